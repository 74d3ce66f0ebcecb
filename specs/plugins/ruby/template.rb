# frozen_string_literal: true

# template fills in texts for an agent: one JSON object a line comes on stdin, one goes back on stdout.
require "json"

DEFINITION = {
  name: "template",
  description: "Fill a text in: each %{name} in it becomes the value of that name, and %% a percent sign. " \
               "Use it for letters, reports and configuration files with the same form every time. " \
               "It has no conditions and no loops.",
  parameters: {
    type: "object",
    properties: {
      template: {type: "string", maxLength: 100_000, description: "The text, e.g. 'Dear %{name}, you owe %{sum}.'"},
      values: {
        type: "object",
        additionalProperties: {type: %w[string number boolean]},
        maxProperties: 200,
        description: "The values by name, e.g. {\"name\": \"Ada\", \"sum\": 12}"
      }
    },
    required: %w[template values]
  }
}.freeze

class Refused < StandardError; end

def render(template, values)
  missing = template.gsub("%%", "").scan(/%\{([^{}]*)\}/).flatten.uniq.reject { |name| values.key?(name) }
  raise Refused, "there is no value for: #{missing.join(", ")}" unless missing.empty?

  template.gsub(/%%|%\{([^{}]*)\}/) { $1 ? values[$1].to_s : "%" }
end

def call(params)
  template, values = params.values_at("template", "values") if params.is_a?(Hash)
  unless template.is_a?(String) && values.is_a?(Hash)
    raise Refused, "'template' must be a string, and 'values' an object"
  end

  render(template, values)
end

def text(words, error: false)
  {content: [{type: "text", text: words}], error: error}
end

def answer(line)
  request = JSON.parse(line)
  case request.is_a?(Hash) && request["type"]
  when "describe" then JSON.generate(DEFINITION)
  when "call"
    warn "call #{request["call_id"]}"
    JSON.generate(text(call(request["params"])))
  else raise Refused, "this line is no request: its type is neither describe nor call"
  end
rescue Refused => e
  JSON.generate(text("Error: #{e.message}", error: true))
# ArgumentError is what Ruby says of a text that is not UTF-8.
rescue JSON::JSONError, EncodingError, ArgumentError
  JSON.generate(text("Error: this line is not JSON in UTF-8", error: true))
end

$stdin.set_encoding(Encoding::UTF_8)
$stdout.sync = true
$stdin.each_line { |line| puts answer(line) unless line.b.strip.empty? }
