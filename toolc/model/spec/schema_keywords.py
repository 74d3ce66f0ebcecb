"""The keys of a JSON Schema (2020-12), in ``parameters`` and ``result.schema``. The standard defines their meaning."""

from collections.abc import Mapping
from typing import Final

from toolc.model.spec import keys
from toolc.model.spec.keys import BOOLEAN, JSON, STRING

TYPES: Final = ("string", "integer", "number", "boolean", "array", "object", "null")
"""The types of JSON Schema."""

DIALECTS: Final = r"^https?://json-schema\.org/(draft-06|draft-07|draft/2019-09|draft/2020-12)/schema#?$"
"""The pattern of valid values of ``$schema``."""

_SCHEMA: Final = keys.Kind("schema or boolean")
_LIST: Final = keys.list_of(_SCHEMA, least=1)
_SCHEMAS: Final = keys.map_of(_SCHEMA)
_COUNT: Final = keys.integer(0)
_NUMBER: Final = keys.number()
_NAMES: Final = keys.list_of(STRING, unique=True)
_TYPE: Final = keys.choice(*TYPES, is_fixed=True)
_TYPES: Final = keys.either(_TYPE, keys.list_of(_TYPE, least=1, unique=True), keys.CONSTANT)

KEYWORDS: Final[Mapping[str, keys.Kind]] = {
    name: kind
    for kind, names in (
        (_TYPES, "type"),
        (STRING, "description title pattern format contentEncoding contentMediaType"),
        (STRING, "$ref $dynamicRef $comment $id"),
        (keys.matching(r"^[A-Za-z_][-A-Za-z0-9._]*$"), "$anchor $dynamicAnchor"),
        (JSON, "default const"),
        (keys.list_of(JSON), "examples"),
        (keys.list_of(JSON, least=1), "enum"),
        (_NUMBER, "minimum maximum exclusiveMinimum exclusiveMaximum"),
        (keys.Kind("above zero"), "multipleOf"),
        (_COUNT, "minLength maxLength minContains maxContains minItems maxItems minProperties maxProperties"),
        (_SCHEMA, "contentSchema items contains unevaluatedItems additionalProperties"),
        (_SCHEMA, "propertyNames unevaluatedProperties not if then else"),
        (_LIST, "prefixItems allOf anyOf oneOf"),
        (BOOLEAN, "uniqueItems deprecated readOnly writeOnly"),
        (_SCHEMAS, "properties patternProperties dependentSchemas $defs definitions"),
        (_NAMES, "required"),
        (keys.map_of(_NAMES), "dependentRequired"),
        (keys.matching(DIALECTS, is_fixed=True), "$schema"),
        (keys.map_of(BOOLEAN), "$vocabulary"),
    )
    for name in names.split()
}
"""How each keyword is read.

- ``type``: The type of the value.
  Example: string
  Instead of: nullable: write type: [string, "null"], with your type instead of string
- ``description``: The meaning of the value, for the model. Give an example.
  Example: File, e.g. notes.md
  Instead of: desc doc help: write description
- ``title``: A name for users.
  Example: File
- ``default``: The value if the caller does not provide one.
  Example: 10
- ``examples``: Examples of valid values.
  Example: [notes.md]
  Instead of: example: write examples: [...]
- ``enum``: The allowed values.
  Example: [asc, desc]
  Instead of: choices options values: write enum: [...]
- ``const``: The only allowed value.
  Example: v1
- ``minimum``: The minimum.
  Example: 0
- ``maximum``: The maximum.
  Example: 100
- ``exclusiveMinimum``: The number must be greater than this.
  Example: 0
- ``exclusiveMaximum``: The number must be less than this.
  Example: 1
- ``multipleOf``: The number must be a multiple of this.
  Example: 0.5
  Instead of: divisibleBy: write multipleOf
- ``minLength``: The minimum number of characters.
  Example: 1
- ``maxLength``: The maximum number of characters.
  Example: 200
- ``pattern``: A regular expression that must match somewhere. Anchor it with ^ and $.
  Example: ^[a-z]+$
  Instead of: regex regexp: write pattern
- ``format``: The format of the text, such as ``date-time`` or ``uri``.
  Example: date-time
  Instead of: =datetime =date_time =timestamp =iso8601: date-time
  Instead of: =url: uri
  Instead of: =guid: uuid
  Instead of: =ip =ip-address: ipv4
  Instead of: =host =host-name: hostname
  Instead of: =mail =e-mail: email
  Instead of: =regexp =pattern: regex
- ``contentEncoding``: The encoding of bytes in the text, such as ``base64``.
  Example: base64
- ``contentMediaType``: The media type of the text.
  Example: image/png
- ``contentSchema``: The schema of the decoded text.
  Example: {type: object}
- ``items``: The schema of each item of the array.
  Example: {type: string}
- ``prefixItems``: The schemas of the first items.
  Example: [{type: number}, {type: number}]
  Instead of: additionalItems: in 2020-12, the list is 'prefixItems', and 'items' is the schema of further items
- ``contains``: The schema of at least one item.
  Example: {const: all}
- ``minContains``: The minimum number of items that match ``contains``.
  Example: 1
- ``maxContains``: The maximum number of items that match ``contains``.
  Example: 1
- ``minItems``: The minimum number of items.
  Example: 1
- ``maxItems``: The maximum number of items.
  Example: 50
- ``uniqueItems``: Whether all items must be different.
  Example: true
- ``unevaluatedItems``: The schema of the items that no other keyword evaluates.
  Example: false
- ``properties``: The keys of the object, each with its schema.
  Example: {id: {type: integer}}
- ``required``: The required keys.
  Example: [id]
  Instead of: optional: remove it, because a parameter that is not listed under 'required' is optional
- ``additionalProperties``: The schema of all other keys. False does not allow any.
  Example: false
- ``patternProperties``: The schemas of keys by a regular expression for their names.
  Example: {^x-: true}
- ``propertyNames``: The schema of the names of keys.
  Example: {pattern: ^[a-z]+$}
- ``minProperties``: The minimum number of keys.
  Example: 1
- ``maxProperties``: The maximum number of keys.
  Example: 20
- ``dependentRequired``: The keys that are required if a key is present.
  Example: {card: [address]}
  Instead of: dependencies: in 2020-12, use 'dependentRequired' for names and 'dependentSchemas' for schemas
- ``dependentSchemas``: The schema of the object if a key is present.
  Example: {card: {required: [address]}}
- ``unevaluatedProperties``: The schema of the keys that no other keyword evaluates.
  Example: false
- ``allOf``: Schemas that must all match.
  Example: [{required: [id]}]
- ``anyOf``: Schemas of which at least one must match.
  Example: [{required: [id]}, {required: [name]}]
- ``oneOf``: Schemas of which exactly one must match.
  Example: [{type: string}, {type: integer}]
  Instead of: discriminator: remove it, because 'oneOf' chooses by the 'const' for the property in each of
    its schemas
- ``not``: A schema that must not match.
  Example: {const: root}
- ``if``: If this schema matches, ``then`` must match, otherwise ``else``.
  Example: {required: [card]}
- ``then``: The schema if ``if`` matches.
  Example: {required: [address]}
- ``else``: The schema if ``if`` does not match.
  Example: {required: [iban]}
- ``deprecated``: Whether the value is deprecated.
  Example: true
- ``readOnly``: Whether only the tool sets the value.
  Example: true
- ``writeOnly``: Whether only the caller sets the value.
  Example: true
- ``$ref``: Another schema of this tool: '#/$defs/name'.
  Example: "#/$defs/point"
  Instead of: $recursiveRef: write {$ref: '#'}
- ``$defs``: Schemas for ``$ref``, by name.
  Example: {point: {type: object}}
- ``definitions``: The former name of ``$defs``.
  Example: {point: {type: object}}
- ``$anchor``: A name that ``$ref`` can use: '#name'.
  Example: point
- ``$dynamicAnchor``: A name that ``$dynamicRef`` can use.
  Example: node
- ``$dynamicRef``: Another schema of this tool, by its dynamic anchor.
  Example: "#node"
- ``$comment``: A comment for readers of the schema.
  Example: as in the API of the service
- ``$id``: The identifier of the whole schema. Only at its root.
  Example: https://example.com/query.json
- ``$schema``: The dialect: 2020-12, or an equivalent older one.
  Example: https://json-schema.org/draft/2020-12/schema
- ``$vocabulary``: For meta-schemas only.
  Example: {}
"""
