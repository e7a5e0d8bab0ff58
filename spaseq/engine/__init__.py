"""From queries and inputs to rows: `job` takes files, `live` pushed events; `described` explains. Each stands alone."""
