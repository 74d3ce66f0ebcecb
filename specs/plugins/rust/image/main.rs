//! file_info tells an agent about files: one JSON object a line comes on stdin, one goes back on stdout.

mod json;

use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

const DEFINITION: &str = concat!(
    r#"{"name":"file_info","description":"Describe one file of the workspace: its kind, size, permissions, time "#,
    r#"of last change and, for a text file, how many lines it has. Use it before you read a file that may be "#,
    r#"large. It does not return what the file holds.","parameters":{"type":"object","properties":{"path":"#,
    r#"{"type":"string","minLength":1,"maxLength":4096,"description":"File, relative to the workspace, "#,
    r#"e.g. 'src/main.rs'"}},"required":["path"]}}"#
);

fn main() -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        if !line.iter().all(u8::is_ascii_whitespace) {
            writeln!(output, "{}", answer(&line))?;
            output.flush()?;
        }
        line.clear();
    }
    Ok(())
}

fn answer(line: &[u8]) -> String {
    let request = match std::str::from_utf8(line)
        .map_err(|error| error.to_string())
        .and_then(json::parse)
    {
        Ok(value) => value,
        Err(problem) => return failure(&format!("this line is not JSON: {problem}")),
    };
    match request.get("type").and_then(json::Value::as_str) {
        Some("describe") => DEFINITION.to_string(),
        Some("call") => {
            let id = request
                .get("call_id")
                .and_then(json::Value::as_str)
                .unwrap_or("");
            eprintln!("call {id}");
            match call(request.get("params")) {
                Ok(text) => response(&text, false),
                Err(problem) => failure(&problem),
            }
        }
        Some(other) => failure(&format!("there is no request of type '{other}'")),
        None => failure("this line is no request: it has no 'type'"),
    }
}

fn response(text: &str, error: bool) -> String {
    format!(
        r#"{{"content":[{{"type":"text","text":{}}}],"error":{error}}}"#,
        json::quoted(text)
    )
}

fn failure(problem: &str) -> String {
    response(&format!("Error: {problem}"), true)
}

fn call(params: Option<&json::Value>) -> Result<String, String> {
    let path = params
        .and_then(|params| params.get("path"))
        .and_then(json::Value::as_str)
        .filter(|path| !path.is_empty())
        .ok_or("'path' is missing, or no string")?;
    let workspace = fs::canonicalize(".").map_err(|error| format!("the workspace: {error}"))?;
    let real = inside(&workspace, path)
        .ok_or_else(|| format!("'{path}' is outside the workspace; give a path relative to it"))?;
    describe(path, &real).map_err(|error| format!("{path}: {error}"))
}

/// What a path leads to, through every link; `None` where that, or the nearest folder there is, is outside.
fn inside(workspace: &Path, path: &str) -> Option<PathBuf> {
    let joined = workspace.join(path);
    let nearest = joined
        .ancestors()
        .find_map(|each| fs::canonicalize(each).ok())?;
    nearest
        .starts_with(workspace)
        .then(|| fs::canonicalize(&joined).unwrap_or(joined))
}

fn describe(path: &str, real: &Path) -> io::Result<String> {
    let found = fs::metadata(real)?;
    let mut lines = vec![
        format!("path: {path}"),
        format!("kind: {}", kind(&found)),
        format!("size: {} bytes", found.len()),
        format!("permissions: {:04o}", found.permissions().mode() & 0o7777),
    ];
    if let Ok(age) = found.modified()?.duration_since(UNIX_EPOCH) {
        lines.push(format!(
            "modified: {} (seconds since 1970-01-01 UTC)",
            age.as_secs()
        ));
    }
    if found.is_file() {
        lines.push(match count_lines(File::open(real)?)? {
            Some(count) => format!("lines: {count}"),
            None => "lines: none, it is a binary file".to_string(),
        });
    }
    Ok(lines.join("\n"))
}

fn kind(found: &Metadata) -> &'static str {
    if found.is_file() {
        "file"
    } else if found.is_dir() {
        "folder"
    } else {
        "other"
    }
}

/// How many lines a file has, the last one with or without a line feed; `None` where it holds a NUL byte.
fn count_lines(file: File) -> io::Result<Option<usize>> {
    let mut reader = BufReader::new(file);
    let mut buffer = [0; 64 * 1024];
    let (mut count, mut last) = (0, b'\n');
    loop {
        let size = reader.read(&mut buffer)?;
        if size == 0 {
            return Ok(Some(count + usize::from(last != b'\n')));
        }
        let piece = &buffer[..size];
        if piece.contains(&0) {
            return Ok(None);
        }
        count += piece.iter().filter(|byte| **byte == b'\n').count();
        last = piece[size - 1];
    }
}
