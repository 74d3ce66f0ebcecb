#!/usr/bin/env bash
# sys_info tells an agent about its system: one JSON object a line comes on stdin, one goes back on stdout.
set -uo pipefail

DEFINITION='{
  "name": "sys_info",
  "description": "Describe the system that commands run on: the operating system, its memory and its disks. Use it to find out what there is room for. It says nothing about the machine of the person you talk to.",
  "parameters": {
    "type": "object",
    "properties": {
      "section": {"type": "string", "enum": ["all", "os", "memory", "disk"], "default": "all", "description": "What to describe"}
    }
  }
}'

os() {
  local PRETTY_NAME=unknown
  [[ -r /usr/lib/os-release ]] && . /usr/lib/os-release
  printf 'os: %s\nkernel: %s\narchitecture: %s\nprocessors: %s\n' \
    "$PRETTY_NAME" "$(uname -sr)" "$(uname -m)" "$(nproc)"
}

memory() {
  awk '$1 == "MemTotal:" || $1 == "MemAvailable:" {printf "%s %d MiB\n", $1, $2 / 1024}' /proc/meminfo
}

disk() {
  df -Pm / /tmp | awk 'NR > 1 {printf "disk %s: %d MiB, %d MiB free\n", $6, $2, $4}'
}

call() {
  case $1 in
    all) os; memory; disk ;;
    os | memory | disk) "$1" ;;
    *) printf "there is no section '%s'; there is: all, os, memory, disk" "$1"; return 1 ;;
  esac
}

answer() { # answer ERROR TEXT
  jq --null-input --compact-output --argjson error "$1" --arg text "$2" \
    '{content: [{type: "text", text: $text}], error: $error}'
}

while IFS= read -r line || [[ -n $line ]]; do
  [[ $line =~ ^[[:space:]]*$ ]] && continue
  # The type of the request and its section, or nothing for a line that is no request.
  request=$(jq --raw-output '"\(.type) \(.params.section // "all" | tostring)"' <<<"$line" 2>/dev/null) || request=
  case $request in
    "describe "*) jq --compact-output . <<<"$DEFINITION" ;;
    "call "*)
      if text=$(call "${request#call }"); then answer false "$text"; else answer true "Error: $text"; fi
      ;;
    *) answer true "Error: this line is no request: a JSON object of type describe or call is expected" ;;
  esac
done
