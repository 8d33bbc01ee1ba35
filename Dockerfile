# Headroom in an image: docker build -t headroom . (or buildah, podman). It runs as nobody, on a root file system that can be
# read-only (/tmp is all that is written), and says how it is: /healthz, /readyz. Another base: --build-arg PYTHON=…; it needs
# python3 (3.11 or newer) with venv. tests/deploy runs these lines.
ARG PYTHON=docker.io/library/python:3.13-slim-trixie
# --build-arg DIGEST=@sha256:… pins the base to one image: docker buildx imagetools inspect $PYTHON
ARG DIGEST=

FROM ${PYTHON}${DIGEST} AS build
WORKDIR /src
# --build-arg LOCK=requirements-gate.txt: a small image for pipelines and jobs, with every command on a snapshot
ARG LOCK=requirements.lock
COPY deploy/requirements.lock deploy/requirements-gate.txt deploy/build.lock ./
RUN python3 -m venv /opt/headroom \
 && /opt/headroom/bin/python -m pip install --no-cache-dir --disable-pip-version-check --quiet --require-hashes -r ${LOCK}
RUN python3 -m venv /opt/build \
 && /opt/build/bin/python -m pip install --no-cache-dir --disable-pip-version-check --quiet --require-hashes -r build.lock
COPY pyproject.toml README.md LICENSE app.py ./
COPY .streamlit/config.toml .streamlit/config.toml
COPY data data
COPY pages pages
COPY planner planner
COPY headroom_planner headroom_planner
COPY deploy/wheel.py deploy/wheel.py
RUN /opt/build/bin/python -m pip wheel --no-cache-dir --disable-pip-version-check --quiet --no-deps --no-index --no-build-isolation --wheel-dir /opt/wheel . \
 && /opt/headroom/bin/python -m pip install --no-cache-dir --disable-pip-version-check --quiet --no-deps --no-index /opt/wheel/*.whl \
 && /opt/headroom/bin/python -m compileall -q -j 0 /opt/headroom/lib \
 && /opt/headroom/bin/python -m pip uninstall --quiet --yes pip

FROM ${PYTHON}${DIGEST}
COPY --from=build /opt/headroom /opt/headroom
RUN mkdir -p /var/lib/headroom/.streamlit
ENV PATH=/opt/headroom/bin:/usr/local/bin:/usr/bin:/bin HOME=/var/lib/headroom PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /var/lib/headroom
USER 65532:65532
EXPOSE 8501 9443
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=120s CMD ["python3", "-m", "headroom_planner.planner.cli.healthcheck"]
ENTRYPOINT ["headroom"]
CMD ["--help"]
