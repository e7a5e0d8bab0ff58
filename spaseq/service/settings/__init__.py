"""Settings of the service, one definition for tables of TOML and for bodies of JSON."""
