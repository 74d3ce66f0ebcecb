// toolc client for the registry sha256:0b6ebbf7e880d3753e5452a36461d13a39c89a025f8f12677620e8a749f0a4ca
/**
 * A typed client of tools. Do not edit it; `toolc build --client` writes it again.
 *
 * `mcpTools(client)` calls the tools of `toolc serve` with a client of the MCP SDK, and `createTools(call)` with any
 * function.
 *
 * @module
 */

/** A part of a result. Binary data is in base64. */
export type ContentBlock = { type: string; text?: string; data?: string; [key: string]: unknown };

/** The result of a call. `structured` is its data. */
export type ToolResult = { content: Array<ContentBlock>; structured?: unknown };

/** Calls a tool and returns its result; rejects with `ToolCallError` if the tool failed. */
export type CallTool = (name: string, args: { [key: string]: unknown }) => Promise<ToolResult>;

/** A call that returned an error; `content` is what the tool said. */
export class ToolCallError extends Error {
  readonly tool: string;
  readonly content: Array<ContentBlock>;

  constructor(tool: string, content: Array<ContentBlock>) {
    const text = content.map((block) => block.text ?? "").join("\n");
    super(`${tool}: ${text}`);
    this.name = "ToolCallError";
    this.tool = tool;
    this.content = content;
  }
}

export const REGISTRY = "sha256:0b6ebbf7e880d3753e5452a36461d13a39c89a025f8f12677620e8a749f0a4ca";

/** Tools whose data MCP wraps, because it need not be an object. */
const WRAPPED: ReadonlySet<string> = new Set<string>(["anchored", "any_value", "constant", "mixed_values", "nested_lists", "nullable", "open_pair", "pair", "several_types", "texts", "union"]);

export type AliasOfListL = Array<AliasOfListL>;

export type AliasOfListArgumentsNeeded = {
  a?: AliasOfListL;
};

export type AliasOfListArgumentsOptional = {
  a?: AliasOfListL;
};

export type AliasOfListResultL = Array<AliasOfListResultL>;

export type AliasOfListResult = {
  a?: AliasOfListResultL;
};

export type AnchoredHere = null;

export type AnchoredResultHere = null;

export type AnchoredResult = Array<AnchoredResultHere>;

export type AnyValueResult = unknown;

export type ApartArgumentsNeeded = {
  name: string;
};

export type ApartArgumentsOptional = {
  name: string;
};

export type ApartResult = {
  name: string;
};

export type ConstantResult = "only";

export type DeepArgumentsNeededABItem = {
  c?: string;
};

export type DeepArgumentsNeededA = {
  b?: Array<DeepArgumentsNeededABItem>;
};

export type DeepArgumentsNeeded = {
  a?: DeepArgumentsNeededA;
};

export type DeepArgumentsOptionalABItem = {
  c?: string;
};

export type DeepArgumentsOptionalA = {
  b?: Array<DeepArgumentsOptionalABItem>;
};

export type DeepArgumentsOptional = {
  a?: DeepArgumentsOptionalA;
};

export type DeepResultABItem = {
  c?: string;
};

export type DeepResultA = {
  b?: Array<DeepResultABItem>;
};

export type DeepResult = {
  a?: DeepResultA;
};

/** About it. */
export type DescribedArgumentsNeeded = {
  /**
   * One.
   * @default "x"
   */
  a?: string;
};

/** About it. */
export type DescribedArgumentsOptional = {
  /**
   * One.
   * @default "x"
   */
  a?: string;
};

/** About it. */
export type DescribedResult = {
  /**
   * One.
   * @default "x"
   */
  a?: string;
};

export type EmptyRecordArgumentsNeeded = { [key: string]: never };

export type EmptyRecordArgumentsOptional = { [key: string]: never };

export type EmptyRecordResult = { [key: string]: never };

export type MapOfListsResult = { [key: string]: Array<number> };

export type MixedValuesResult = "a" | 1 | true | false | -3 | 9007199254740991 | null | number | Array<unknown> | { [key: string]: unknown };

export type NestedListsJson = string | Array<NestedListsJson>;

export type NestedListsResultJson = string | Array<NestedListsResultJson>;

export type NothingArgumentsNeeded = {
  never?: never;
  always?: unknown;
};

export type NothingArgumentsOptional = {
  never?: never;
  always?: unknown;
};

export type NothingResult = {
  never?: never;
  always?: unknown;
};

export type NullableResult = string | null;

export type OpenPairResult = [(string | null)?, ...Array<boolean>];

export type OpenRecordArgumentsNeeded = {
  a?: string;
  [key: string]: unknown;
};

export type OpenRecordArgumentsOptional = {
  a?: string;
  [key: string]: unknown;
};

export type OpenRecordResult = {
  a?: string;
  [key: string]: unknown;
};

export type PairResult = [string, number?];

export type PatternsResult = { [key: string]: unknown };

export type SeveralTypesArgumentsNeeded = {
  a?: string;
};

export type SeveralTypesArgumentsOptional = {
  a?: string;
};

export type SeveralTypesResult = {
  a?: string;
};

export type SeveralTypesResult_2 = SeveralTypesResult | Array<string> | number;

export type SharedTypeArgumentsNeededOption1 = {
  a: unknown;
};

export type SharedTypeArgumentsNeededOption2 = {
  b?: string;
};

export type SharedTypeArgumentsOptionalOption1 = {
  a: unknown;
};

export type SharedTypeArgumentsOptionalOption2 = {
  b?: string;
};

export type SharedTypeResultOption1 = {
  a: unknown;
};

export type SharedTypeResultOption2 = {
  b?: string;
};

export type SharedTypeResult = SharedTypeResultOption1 | SharedTypeResultOption2;

export type TaggedArgumentsNeededOption1 = {
  kind: "circle";
  circle?: string;
};

export type TaggedArgumentsNeededOption2 = {
  kind: "square";
  square?: string;
};

export type TaggedArgumentsOptionalOption1 = {
  kind: "circle";
  circle?: string;
};

export type TaggedArgumentsOptionalOption2 = {
  kind: "square";
  square?: string;
};

export type TaggedResultOption1 = {
  kind: "circle";
  circle?: string;
};

export type TaggedResultOption2 = {
  kind: "square";
  square?: string;
};

export type TaggedResult = TaggedResultOption1 | TaggedResultOption2;

export type TextsResult = "a" | "b" | "it's \"quoted\"\\";

export type TogetherArgumentsNeeded = {
  a?: string;
  b?: string;
};

export type TogetherArgumentsOptional = {
  a?: string;
  b?: string;
};

export type TogetherResult = {
  a?: string;
  b?: string;
};

export type TreeNeeded = {
  name: string;
  next?: TreeNode;
  all?: Array<Tree>;
};

export type TreeOptional = {
  name: string;
  next?: TreeNode;
  all?: Array<Tree>;
};

export type Tree = {
  needed: TreeNeeded;
  optional?: TreeOptional;
};

export type TreeNode = {
  name: string;
  next?: TreeNode;
  all?: Array<Tree>;
};

export type TreeArgumentsNeeded = {
  name: string;
  next?: TreeNode;
  all?: Array<Tree>;
};

export type TreeArgumentsOptional = {
  name: string;
  next?: TreeNode;
  all?: Array<Tree>;
};

export type TreeResult_2 = {
  name: string;
  next?: TreeResultNode;
  all?: Array<TreeResult_2>;
};

export type TreeResultNode = {
  name: string;
  next?: TreeResultNode;
  all?: Array<TreeResult_2>;
};

export type TreeResult = {
  name: string;
  next?: TreeResultNode;
  all?: Array<TreeResult_2>;
};

export type UndeclaredArgumentsNeeded = {
  a: number;
  [key: string]: unknown;
};

export type UndeclaredArgumentsOptional = {
  a: number;
  [key: string]: unknown;
};

export type UndeclaredResult = {
  a: number;
  [key: string]: unknown;
};

export type UnionArgumentsNeededOption2 = {
  a?: string;
};

export type UnionId = number;

export type UnionArgumentsOptionalOption2 = {
  a?: string;
};

export type UnionResultOption2 = {
  a?: string;
};

export type UnionResultId = number;

export type UnionResult = string | UnionResultOption2 | UnionResultId;

export type AliasOfListArguments = {
  needed: AliasOfListArgumentsNeeded;
  optional?: AliasOfListArgumentsOptional;
};

export type AnchoredArguments = {
  needed: Array<AnchoredHere>;
  optional?: Array<AnchoredHere>;
};

export type AnyValueArguments = {
  needed: unknown;
  optional?: unknown;
};

export type ApartArguments = {
  needed: ApartArgumentsNeeded;
  optional?: ApartArgumentsOptional;
};

export type ConstantArguments = {
  needed: "only";
  optional?: "only";
};

export type DeepArguments = {
  needed: DeepArgumentsNeeded;
  optional?: DeepArgumentsOptional;
};

export type DescribedArguments = {
  /** About it. */
  needed: DescribedArgumentsNeeded;
  /** About it. */
  optional?: DescribedArgumentsOptional;
};

export type EmptyRecordArguments = {
  needed: EmptyRecordArgumentsNeeded;
  optional?: EmptyRecordArgumentsOptional;
};

export type MapOfListsArguments = {
  needed: { [key: string]: Array<number> };
  optional?: { [key: string]: Array<number> };
};

export type MixedValuesArguments = {
  needed: "a" | 1 | true | false | -3 | 9007199254740991 | null | number | Array<unknown> | { [key: string]: unknown };
  optional?: "a" | 1 | true | false | -3 | 9007199254740991 | null | number | Array<unknown> | { [key: string]: unknown };
};

export type NestedListsArguments = {
  needed: NestedListsJson;
  optional?: NestedListsJson;
};

export type NothingArguments = {
  needed: NothingArgumentsNeeded;
  optional?: NothingArgumentsOptional;
};

export type NullableArguments = {
  needed: string | null;
  optional?: string | null;
};

export type OpenPairArguments = {
  needed: [(string | null)?, ...Array<boolean>];
  optional?: [(string | null)?, ...Array<boolean>];
};

export type OpenRecordArguments = {
  needed: OpenRecordArgumentsNeeded;
  optional?: OpenRecordArgumentsOptional;
};

export type PairArguments = {
  needed: [string, number?];
  optional?: [string, number?];
};

export type PatternsArguments = {
  needed: { [key: string]: unknown };
  optional?: { [key: string]: unknown };
};

export type SeveralTypesArguments = {
  needed: SeveralTypesArgumentsNeeded | Array<string> | number;
  optional?: SeveralTypesArgumentsOptional | Array<string> | number;
};

export type SharedTypeArguments = {
  needed: SharedTypeArgumentsNeededOption1 | SharedTypeArgumentsNeededOption2;
  optional?: SharedTypeArgumentsOptionalOption1 | SharedTypeArgumentsOptionalOption2;
};

export type TaggedArguments = {
  needed: TaggedArgumentsNeededOption1 | TaggedArgumentsNeededOption2;
  optional?: TaggedArgumentsOptionalOption1 | TaggedArgumentsOptionalOption2;
};

export type TextsArguments = {
  needed: "a" | "b" | "it's \"quoted\"\\";
  optional?: "a" | "b" | "it's \"quoted\"\\";
};

export type TogetherArguments = {
  needed: TogetherArgumentsNeeded;
  optional?: TogetherArgumentsOptional;
};

export type TreeArguments = {
  needed: TreeArgumentsNeeded;
  optional?: TreeArgumentsOptional;
};

export type UndeclaredArguments = {
  needed: UndeclaredArgumentsNeeded;
  optional?: UndeclaredArgumentsOptional;
};

export type UnionArguments = {
  needed: string | UnionArgumentsNeededOption2 | UnionId;
  optional?: string | UnionArgumentsOptionalOption2 | UnionId;
};

/** The tools, each a function of its arguments. */
export interface Tools {
  /** The tool alias_of_list. */
  "alias_of_list": (args: AliasOfListArguments) => Promise<AliasOfListResult>;
  /** The tool anchored. */
  "anchored": (args: AnchoredArguments) => Promise<AnchoredResult>;
  /** The tool any_value. */
  "any_value": (args: AnyValueArguments) => Promise<AnyValueResult>;
  /** The tool apart. */
  "apart": (args: ApartArguments) => Promise<ApartResult>;
  /** The tool constant. */
  "constant": (args: ConstantArguments) => Promise<ConstantResult>;
  /** The tool deep. */
  "deep": (args: DeepArguments) => Promise<DeepResult>;
  /** The tool described. */
  "described": (args: DescribedArguments) => Promise<DescribedResult>;
  /** The tool empty_record. */
  "empty_record": (args: EmptyRecordArguments) => Promise<EmptyRecordResult>;
  /** The tool map_of_lists. */
  "map_of_lists": (args: MapOfListsArguments) => Promise<MapOfListsResult>;
  /** The tool mixed_values. */
  "mixed_values": (args: MixedValuesArguments) => Promise<MixedValuesResult>;
  /** The tool nested_lists. */
  "nested_lists": (args: NestedListsArguments) => Promise<NestedListsResultJson>;
  /** The tool nothing. */
  "nothing": (args: NothingArguments) => Promise<NothingResult>;
  /** The tool nullable. */
  "nullable": (args: NullableArguments) => Promise<NullableResult>;
  /** The tool open_pair. */
  "open_pair": (args: OpenPairArguments) => Promise<OpenPairResult>;
  /** The tool open_record. */
  "open_record": (args: OpenRecordArguments) => Promise<OpenRecordResult>;
  /** The tool pair. */
  "pair": (args: PairArguments) => Promise<PairResult>;
  /** The tool patterns. */
  "patterns": (args: PatternsArguments) => Promise<PatternsResult>;
  /** The tool several_types. */
  "several_types": (args: SeveralTypesArguments) => Promise<SeveralTypesResult_2>;
  /** The tool shared_type. */
  "shared_type": (args: SharedTypeArguments) => Promise<SharedTypeResult>;
  /** The tool tagged. */
  "tagged": (args: TaggedArguments) => Promise<TaggedResult>;
  /** The tool texts. */
  "texts": (args: TextsArguments) => Promise<TextsResult>;
  /** The tool together. */
  "together": (args: TogetherArguments) => Promise<TogetherResult>;
  /** The tool tree. */
  "tree": (args: TreeArguments) => Promise<TreeResult>;
  /** The tool undeclared. */
  "undeclared": (args: UndeclaredArguments) => Promise<UndeclaredResult>;
  /** The tool union. */
  "union": (args: UnionArguments) => Promise<UnionResult>;
}

/** Return the tools, called through a function. */
export function createTools(call: CallTool): Tools {
  return {
    ["alias_of_list"]: (args: AliasOfListArguments) => call("alias_of_list", { ...args }).then((result) => result.structured as AliasOfListResult),
    ["anchored"]: (args: AnchoredArguments) => call("anchored", { ...args }).then((result) => result.structured as AnchoredResult),
    ["any_value"]: (args: AnyValueArguments) => call("any_value", { ...args }).then((result) => result.structured as AnyValueResult),
    ["apart"]: (args: ApartArguments) => call("apart", { ...args }).then((result) => result.structured as ApartResult),
    ["constant"]: (args: ConstantArguments) => call("constant", { ...args }).then((result) => result.structured as ConstantResult),
    ["deep"]: (args: DeepArguments) => call("deep", { ...args }).then((result) => result.structured as DeepResult),
    ["described"]: (args: DescribedArguments) => call("described", { ...args }).then((result) => result.structured as DescribedResult),
    ["empty_record"]: (args: EmptyRecordArguments) => call("empty_record", { ...args }).then((result) => result.structured as EmptyRecordResult),
    ["map_of_lists"]: (args: MapOfListsArguments) => call("map_of_lists", { ...args }).then((result) => result.structured as MapOfListsResult),
    ["mixed_values"]: (args: MixedValuesArguments) => call("mixed_values", { ...args }).then((result) => result.structured as MixedValuesResult),
    ["nested_lists"]: (args: NestedListsArguments) => call("nested_lists", { ...args }).then((result) => result.structured as NestedListsResultJson),
    ["nothing"]: (args: NothingArguments) => call("nothing", { ...args }).then((result) => result.structured as NothingResult),
    ["nullable"]: (args: NullableArguments) => call("nullable", { ...args }).then((result) => result.structured as NullableResult),
    ["open_pair"]: (args: OpenPairArguments) => call("open_pair", { ...args }).then((result) => result.structured as OpenPairResult),
    ["open_record"]: (args: OpenRecordArguments) => call("open_record", { ...args }).then((result) => result.structured as OpenRecordResult),
    ["pair"]: (args: PairArguments) => call("pair", { ...args }).then((result) => result.structured as PairResult),
    ["patterns"]: (args: PatternsArguments) => call("patterns", { ...args }).then((result) => result.structured as PatternsResult),
    ["several_types"]: (args: SeveralTypesArguments) => call("several_types", { ...args }).then((result) => result.structured as SeveralTypesResult_2),
    ["shared_type"]: (args: SharedTypeArguments) => call("shared_type", { ...args }).then((result) => result.structured as SharedTypeResult),
    ["tagged"]: (args: TaggedArguments) => call("tagged", { ...args }).then((result) => result.structured as TaggedResult),
    ["texts"]: (args: TextsArguments) => call("texts", { ...args }).then((result) => result.structured as TextsResult),
    ["together"]: (args: TogetherArguments) => call("together", { ...args }).then((result) => result.structured as TogetherResult),
    ["tree"]: (args: TreeArguments) => call("tree", { ...args }).then((result) => result.structured as TreeResult),
    ["undeclared"]: (args: UndeclaredArguments) => call("undeclared", { ...args }).then((result) => result.structured as UndeclaredResult),
    ["union"]: (args: UnionArguments) => call("union", { ...args }).then((result) => result.structured as UnionResult),
  };
}

/** The methods of `Client` of @modelcontextprotocol/sdk that are used. */
export interface McpClient {
  callTool(params: { name: string; arguments: { [key: string]: unknown } }): Promise<unknown>;
  listTools(): Promise<unknown>;
}

/**
 * Return the tools, called through an MCP client that is connected to `toolc serve`.
 *
 * If the server has another registry than this module was written for, `warn` is called once.
 */
export function mcpTools(client: McpClient, warn: (message: string) => void = defaultWarning): Tools {
  let compared: Promise<void> | undefined;
  return createTools(async (name, args) => {
    compared ??= compare(client, warn);
    await compared;
    const found = (await client.callTool({ name, arguments: args })) as {
      content?: Array<ContentBlock>;
      structuredContent?: { [key: string]: unknown };
      isError?: boolean;
    };
    const content = found.content ?? [];
    if (found.isError) {
      throw new ToolCallError(name, content);
    }
    const data = found.structuredContent;
    return data === undefined ? { content } : { content, structured: WRAPPED.has(name) ? data["result"] : data };
  });
}

async function compare(client: McpClient, warn: (message: string) => void): Promise<void> {
  const listed = (await client.listTools()) as { _meta?: { [key: string]: unknown } };
  const digest = listed._meta?.["toolc/registry"];
  if (typeof digest === "string" && digest !== REGISTRY) {
    warn(`the client was generated for the registry ${REGISTRY}, but the server has ${digest}; generate it again`);
  }
}

function defaultWarning(message: string): void {
  (globalThis as { console?: { warn(message: string): void } }).console?.warn(message);
}
