# Each target is what a person would type; the work is done by the tools that it names.
VENV := .venv
BIN := $(VENV)/bin
export PYTHONDONTWRITEBYTECODE := 1
# Once, so that no command does it again each time that it starts.
COMPILE := $(BIN)/python -m compileall -q app migrations

.PHONY: run test test-s3 fuzz lint bench

# The application alone.
$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || python3 -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	$(COMPILE)
	touch $@

.venv: $(VENV)/.installed

# The application with what tests it.
$(VENV)/.installed-for-tests: pyproject.toml
	test -x $(BIN)/python || python3 -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test,dev]'
	$(COMPILE)
	touch $@ $(VENV)/.installed

run: $(VENV)/.installed
	@$(BIN)/flask --app wsgi start

test: $(VENV)/.installed-for-tests
	tests/servers/system_packages.sh postgres chromium
	$(BIN)/pytest -n 2 --dist loadgroup
	$(BIN)/pytest -n 2 --dist loadgroup tests/functional tests/contract --database postgres --store moto

# Against a real S3 server (Ceph's gateway, over http and https), which the tests start and stop.
test-s3: $(VENV)/.installed-for-tests
	tests/servers/system_packages.sh postgres ceph chromium
	$(BIN)/pytest -m s3

# Thousands of requests made up from the API's document, whose every answer must be as described.
fuzz: $(VENV)/.installed-for-tests
	tests/servers/system_packages.sh postgres
	$(BIN)/python -m tests.fuzz
	$(BIN)/python -m tests.fuzz --database postgres

lint: $(VENV)/.installed-for-tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-for-tests
	tests/servers/system_packages.sh postgres ceph
	$(BIN)/python -m tests.benchmarks
