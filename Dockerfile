# docker build -t longrank . && docker run -p 8000:8000 -v longrank:/data -e LONGRANK_ADMIN_KEY longrank
#
# Everything is compiled in the image. It may run on another processor than it is built on, so that is done
# for any processor of the kind (x86-64, ARM), and not for what only this one can do.
FROM python:3.12-slim AS build
ENV NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES="" NUMBA_CACHE_DIR=/kernels
COPY . /source
RUN python -m venv /opt/longrank && /opt/longrank/bin/pip install --no-cache-dir \
    --constraint /source/requirements.lock "/source[service]"
RUN /opt/longrank/bin/longrank warm

FROM python:3.12-slim
RUN useradd --system --uid 10001 longrank && mkdir /data && chown longrank /data
COPY --from=build /opt/longrank /opt/longrank
COPY --from=build --chown=longrank /kernels /kernels
ENV PATH=/opt/longrank/bin:$PATH NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES="" NUMBA_CACHE_DIR=/kernels \
    LONGRANK_HOST=0.0.0.0 LONGRANK_STORE=/data/decisions.db
USER longrank
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD \
  ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz')"]
ENTRYPOINT ["longrank", "serve"]
