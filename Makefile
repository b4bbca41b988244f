# What people type. The work is done by scripts/ and by `cargo xtask`.

.DEFAULT_GOAL := help
.PHONY: help run demo test soak bench site format

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' Makefile

run: ## build everything and serve the desk on SQLite in ./data
	@scripts/run.sh

demo: ## a desk full of demonstration data, a sandbox that fails at random, an automation that goes on
	@scripts/demo.sh

test: ## everything that must hold before a change lands
	@scripts/test.sh

soak: ## the Rust tests with long rounds (ONCEOVER_SOAK=1)
	@scripts/setup.sh test
	@ONCEOVER_SOAK=1 scripts/with-postgres.sh cargo test --workspace --locked

bench: ## Onceover beside bare SQLite, pgbench and an empty handler, in one run
	@scripts/setup.sh test
	@scripts/bench.sh

site: ## what the browser loads, into target/site
	@scripts/setup.sh build
	@cargo xtask site

format: ## lay the sources out as `make test` wants them
	@cargo fmt --all
