# inertica with all optional packages for readers, and the studio on port 8000:
#   docker build -t inertica .
#   docker run --rm -v "$PWD:/work" inertica identify arm.urdf run1.csv -o result/
#   docker run --rm -v "$PWD:/work" -p 127.0.0.1:8000:8000 inertica studio --host 0.0.0.0 --port 8000 --no-browser
FROM python:3.13-slim AS build
WORKDIR /source
COPY . .
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /dist

FROM python:3.13-slim
COPY --from=build /dist /dist
RUN pip install --no-cache-dir "$(ls /dist/*.whl)[studio,parquet,mat73,ros,pinocchio]" && rm -r /dist
# files are written as this user; --user "$(id -u):$(id -g)" writes them as yours
RUN useradd --create-home inertica
USER inertica
WORKDIR /work
ENV OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
ENTRYPOINT ["inertica"]
CMD ["--help"]
