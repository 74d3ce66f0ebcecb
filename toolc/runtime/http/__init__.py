"""HTTP tools: the host makes the requests and adds the secrets; the guest reads the responses."""
