# `make demo` in a container; the datasets, the trained model and the report are in the folder demo:
#
#   docker build -t ivl .
#   docker run --rm -v "$PWD/demo:/ivl/demo" ivl
FROM python:3.11-slim

ENV PIP_NO_CACHE_DIR=1

# Any version of make will do; the wheels of the dependencies need no system libraries.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends make \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /ivl

# The dependencies first: they change less often than the code, so Docker keeps this layer.
COPY pyproject.toml constraints.txt ./
RUN python -m venv .venv \
    && .venv/bin/pip install -c constraints.txt torch

COPY . .
RUN make .venv/installed-bench

CMD ["make", "demo"]
