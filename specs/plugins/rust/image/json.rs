//! As much of JSON (RFC 8259) as the protocol needs: values are read strictly, strings are written.

const MAX_DEPTH: usize = 100;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Number(f64),
    String(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The last member of this name, of an object.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Object(members) => members
                .iter()
                .rev()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }
}

/// The value that all of `text` is.
pub fn parse(text: &str) -> Result<Value, String> {
    let mut parser = Parser {
        rest: text.trim_matches(SPACE),
        length: text.len(),
    };
    let value = parser.value(0)?;
    if parser.rest.is_empty() {
        Ok(value)
    } else {
        parser.fail("there is more after the value")
    }
}

/// `text` as a JSON string, quotes included.
pub fn quoted(text: &str) -> String {
    let mut written = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            control if control < ' ' => written.push_str(&format!("\\u{:04x}", control as u32)),
            other => written.push(other),
        }
    }
    written.push('"');
    written
}

const SPACE: &[char] = &[' ', '\t', '\r', '\n'];

struct Parser<'a> {
    rest: &'a str,
    length: usize,
}

impl<'a> Parser<'a> {
    fn fail<T>(&self, what: &str) -> Result<T, String> {
        Err(format!(
            "{what}, {} bytes before the end of {}",
            self.rest.len(),
            self.length
        ))
    }

    fn take(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches(SPACE);
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return self.fail("values are nested too deeply");
        }
        for (word, value) in [
            ("null", Value::Null),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
        ] {
            if self.take(word) {
                return Ok(value);
            }
        }
        match self.rest.chars().next() {
            Some('"') => self.string().map(Value::String),
            Some('[') => self.array(depth),
            Some('{') => self.object(depth),
            Some('-' | '0'..='9') => self.number(),
            _ => self.fail("a value is expected"),
        }
    }

    fn number(&mut self) -> Result<Value, String> {
        let end = self
            .rest
            .find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
        let (digits, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let unsigned = digits.strip_prefix('-').unwrap_or(digits);
        let padded = unsigned.len() > 1
            && unsigned.starts_with('0')
            && unsigned.as_bytes()[1].is_ascii_digit();
        match digits.parse() {
            Ok(number) if !padded && !unsigned.starts_with('.') && !digits.ends_with('.') => {
                self.rest = rest;
                Ok(Value::Number(number))
            }
            _ => self.fail("a number is expected"),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, String> {
        let mut items = Vec::new();
        self.take("[");
        self.space();
        while !self.take("]") {
            if !items.is_empty() && !self.take(",") {
                return self.fail("',' or ']' is expected");
            }
            self.space();
            items.push(self.value(depth + 1)?);
            self.space();
        }
        Ok(Value::Array(items))
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        let mut members = Vec::new();
        self.take("{");
        self.space();
        while !self.take("}") {
            if !members.is_empty() && !self.take(",") {
                return self.fail("',' or '}' is expected");
            }
            self.space();
            let name = self.string()?;
            self.space();
            if !self.take(":") {
                return self.fail("':' is expected");
            }
            self.space();
            members.push((name, self.value(depth + 1)?));
            self.space();
        }
        Ok(Value::Object(members))
    }

    fn string(&mut self) -> Result<String, String> {
        if !self.take("\"") {
            return self.fail("a string is expected");
        }
        let mut text = String::new();
        loop {
            let mut characters = self.rest.chars();
            let character = characters.next();
            self.rest = characters.as_str();
            match character {
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escape()?),
                Some(other) if other >= ' ' => text.push(other),
                _ => return self.fail("a string does not end"),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let mut characters = self.rest.chars();
        let character = characters.next();
        self.rest = characters.as_str();
        match character {
            Some(plain @ ('"' | '\\' | '/')) => Ok(plain),
            Some('b') => Ok('\u{8}'),
            Some('f') => Ok('\u{c}'),
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some('u') => self.unicode(),
            _ => self.fail("an escape is wrong"),
        }
    }

    fn unicode(&mut self) -> Result<char, String> {
        let mut code = self.hex()?;
        if (0xD800..0xDC00).contains(&code) && self.take("\\u") {
            let low = self.hex()?;
            if !(0xDC00..0xE000).contains(&low) {
                return self.fail("half of a surrogate pair is missing");
            }
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        char::from_u32(code).map_or_else(|| self.fail("half of a surrogate pair is missing"), Ok)
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self
            .rest
            .get(..4)
            .filter(|four| four.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match digits.and_then(|four| u32::from_str_radix(four, 16).ok()) {
            Some(code) => {
                self.rest = &self.rest[4..];
                Ok(code)
            }
            None => self.fail("four hexadecimal digits are expected"),
        }
    }
}
