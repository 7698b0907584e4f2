"""dask-jobqueue: two workers as jobs, some tasks, a failing one; closing the cluster cancels the jobs."""
from dask.distributed import Client
from dask_jobqueue import SLURMCluster


def main():
    cluster = SLURMCluster(queue="main", account="proj", cores=1, processes=1, memory="512MB", walltime="00:05:00", job_name="dask",
                           scheduler_options={"host": "127.0.0.1", "dashboard_address": None},
                           worker_extra_args=["--host", "127.0.0.1"])
    cluster.scale(jobs=2)
    with Client(cluster) as client:
        client.wait_for_workers(2)
        assert sum(client.gather(client.map(lambda x: x * x, range(10)))) == 285
        failing = client.submit(lambda: 1 / 0)
        assert isinstance(failing.exception(), ZeroDivisionError)
    cluster.close()


if __name__ == "__main__":
    main()
