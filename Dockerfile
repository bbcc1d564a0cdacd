# docker build -t longrank . && docker run -p 8000:8000 -v longrank:/data -e LONGRANK_ADMIN_KEY longrank
FROM python:3.12-slim AS build
COPY . /source
RUN python -m venv /opt/longrank && /opt/longrank/bin/pip install --no-cache-dir \
    --constraint /source/requirements.lock "/source[service]"

FROM python:3.12-slim
RUN useradd --system --uid 10001 longrank && mkdir /data && chown longrank /data
COPY --from=build /opt/longrank /opt/longrank
ENV PATH=/opt/longrank/bin:$PATH NUMBA_CACHE_DIR=/data/.numba \
    LONGRANK_HOST=0.0.0.0 LONGRANK_STORE=/data/decisions.db
USER longrank
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=120s CMD \
  ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz')"]
ENTRYPOINT ["longrank", "serve"]
