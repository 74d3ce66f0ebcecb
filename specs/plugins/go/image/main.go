// bash_plugin runs shell commands for an agent: one JSON object a line comes on stdin, one goes back on stdout.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	maxOutput      = 100_000
	defaultTimeout = 20
	maxTimeout     = 50
)

var definition = json.RawMessage(`{
	"name": "bash_plugin",
	"description": "Run a bash command line in the workspace and return what it printed, with its exit status when it is not 0. Use it to search, build and test with ordinary programs. Each command starts afresh: variables and the current folder do not carry over.",
	"parameters": {
		"type": "object",
		"properties": {
			"command": {"type": "string", "minLength": 1, "maxLength": 100000, "description": "The command line, e.g. 'grep -rn TODO src | head'"},
			"timeout": {"type": "integer", "minimum": 1, "maximum": 50, "default": 20, "description": "How many seconds it may take"}
		},
		"required": ["command"]
	}
}`)

type request struct {
	Type   string          `json:"type"`
	CallID string          `json:"call_id"`
	Params json.RawMessage `json:"params"`
}

type params struct {
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
}

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type response struct {
	Content []block `json:"content"`
	Error   bool    `json:"error"`
}

func main() {
	log.SetFlags(0)
	in := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for {
		line, ended := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := out.Encode(answer(line)); err != nil {
				log.Fatal(err)
			}
		}
		if ended != nil {
			return
		}
	}
}

func answer(line []byte) any {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return failure(fmt.Errorf("this line is no request: %w", err))
	}
	switch asked.Type {
	case "describe":
		return definition
	case "call":
		log.Printf("call %s", asked.CallID)
		text, err := call(asked.Params)
		if err != nil {
			return failure(err)
		}
		return response{Content: []block{{"text", text}}}
	default:
		return failure(fmt.Errorf("there is no request of type %q", asked.Type))
	}
}

func failure(err error) response {
	return response{Content: []block{{"text", "Error: " + err.Error()}}, Error: true}
}

func call(raw json.RawMessage) (string, error) {
	found := params{Timeout: defaultTimeout}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&found); err != nil {
		return "", fmt.Errorf("wrong params: %w", err)
	}
	if strings.TrimSpace(found.Command) == "" {
		return "", errors.New("'command' is empty")
	}
	if found.Timeout < 1 || found.Timeout > maxTimeout {
		return "", fmt.Errorf("'timeout' is %d, and must be from 1 to %d", found.Timeout, maxTimeout)
	}
	return run(found.Command, time.Duration(found.Timeout)*time.Second)
}

func run(command string, timeout time.Duration) (string, error) {
	// A file, not a pipe: what the command leaves in the background cannot hold up the answer.
	output, err := os.CreateTemp("", "output")
	if err != nil {
		return "", err
	}
	defer output.Close()
	defer os.Remove(output.Name())

	cmd := exec.Command("bash", "-c", command)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	group := -cmd.Process.Pid
	late := time.AfterFunc(timeout, func() { _ = syscall.Kill(group, syscall.SIGKILL) })
	failed := cmd.Wait()
	inTime := late.Stop()
	_ = syscall.Kill(group, syscall.SIGKILL)

	text, err := printed(output)
	switch {
	case err != nil:
		return "", err
	case !inTime:
		return "", fmt.Errorf("the command took longer than %s and was killed\n%s", timeout, text)
	case failed != nil:
		return fmt.Sprintf("%s\n[%s]", strings.TrimRight(text, "\n"), failed), nil
	default:
		return text, nil
	}
}

func printed(output *os.File) (string, error) {
	size, err := output.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.NewSectionReader(output, 0, maxOutput))
	if err != nil {
		return "", err
	}
	text := strings.ToValidUTF8(string(data), "\uFFFD")
	if size > maxOutput {
		text += fmt.Sprintf("\n[%d more bytes are left out]", size-maxOutput)
	}
	return text, nil
}
