# The service in a container: docs/howto/deploy.md says how to build and run it.
# an exact version, so that the same image can be built again: raise it for the corrections of Python and Debian
ARG PYTHON=3.13.18-slim-trixie

FROM python:${PYTHON} AS build
WORKDIR /src
COPY pyproject.toml hatch_build.py README.md LICENSE NOTICE ./
COPY LICENSES LICENSES
COPY kernelbuild kernelbuild
COPY src src
# kernels for other processors of this kind than that of the build; the one that fits is chosen at the start
ARG KERNELS="x86-64-v2 x86-64-v3 x86-64-v4"
# with SOURCE_DATE_EPOCH, byte code is compared with its source by a hash; Buildah rounds times of files in COPY --from
RUN test "$(uname -m)" = x86_64 || KERNELS=generic; export NEARDUP_KERNELS_FOR="$KERNELS" \
    && python -m venv /opt/neardup \
    && SOURCE_DATE_EPOCH=1580601600 /opt/neardup/bin/pip install --no-cache-dir '.[client,formats,hf,http,mcp,office,postgres,service,web]'
# parts of pyarrow that neardup never loads
RUN cd /opt/neardup/lib/python3*/site-packages/pyarrow && rm -r libarrow_flight* libarrow_python_flight* _flight* include tests

FROM python:${PYTHON}
COPY --from=build /opt/neardup /opt/neardup
ENV PATH=/opt/neardup/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1
RUN install -d -o 65532 -g 65532 -m 0700 /data
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8321
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8321/health', timeout=3)"]
ENTRYPOINT ["neardup"]
CMD ["serve", "/data/collection.neardup", "--create", "--host", "0.0.0.0", "--port", "8321", "--token-file", "/run/secrets/neardup-tokens"]
