# syntax=docker/dockerfile:1
FROM rust:1.95-slim-bookworm AS build
# SQLite and the TLS library are compiled from C; neither needs more than the compiler and make.
RUN apt-get update \
    && apt-get install -y --no-install-recommends build-essential \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/target \
    CARGO_TARGET_DIR=/target cargo build --profile dist --locked -p server \
    && cp /target/dist/gatehouse /usr/local/bin/gatehouse

FROM debian:bookworm-slim
# The roots by which providers are trusted.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 1000 gatehouse \
    && useradd --uid 1000 --gid 1000 --no-create-home --home-dir /data --shell /usr/sbin/nologin gatehouse \
    && install -d -o 1000 -g 1000 -m 0700 /data
COPY --from=build /usr/local/bin/gatehouse /usr/local/bin/gatehouse
COPY LICENSE NOTICE /usr/share/doc/gatehouse/
# The root file system may be read-only: everything written, SQLite's scratch files too, goes to the volume.
ENV SQLITE_TMPDIR=/data
VOLUME /data
USER 1000:1000
WORKDIR /data
EXPOSE 8787
HEALTHCHECK NONE
ENTRYPOINT ["gatehouse"]
CMD ["serve", "--listen", "0.0.0.0:8787", "--data", "/data"]
