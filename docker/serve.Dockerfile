# A service: spaseq serve with its compiled kernels. The data folder is a volume.
#
#   docker build -f docker/serve.Dockerfile -t registry.example/spaseq:0.1.0 .
#   docker run -p 127.0.0.1:7373:7373 -v spaseq:/var/lib/spaseq -v ./spaseq.toml:/etc/spaseq/spaseq.toml:ro …
#
# docs/how-to/service.md says what the configuration needs where others reach the port: tokens.
ARG PYTHON_VERSION=3.12

FROM python:${PYTHON_VERSION}-slim-bookworm AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY arrays ./arrays
COPY automata ./automata
COPY kb ./kb
COPY sparql_gpm ./sparql_gpm
COPY spaseq ./spaseq
RUN python -m venv /opt/spaseq \
    && /opt/spaseq/bin/python -m pip install --no-cache-dir --disable-pip-version-check ".[serve,kafka,mqtt,tables]"
# From elsewhere than /source, so that the kernels are those of the installation. They are for any processor.
WORKDIR /
RUN /opt/spaseq/bin/spaseq warm --portable

FROM python:${PYTHON_VERSION}-slim-bookworm
COPY --from=build /opt/spaseq /opt/spaseq
ENV PATH=/opt/spaseq/bin:$PATH
RUN useradd --system --uid 7373 --no-create-home --home-dir /var/lib/spaseq spaseq \
    && install -d -o spaseq -g spaseq -m 750 /var/lib/spaseq
WORKDIR /var/lib/spaseq
USER 7373
ENTRYPOINT ["spaseq", "serve", "--config", "/etc/spaseq/spaseq.toml", "--data", "/var/lib/spaseq", "--host", "0.0.0.0"]
