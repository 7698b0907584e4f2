"""submitit: a result, an array with parallelism, a failing function, a cancelled one, a time limit, a checkpoint with requeue."""
import operator
import os
import subprocess
import time

import submitit
from submitit.core.utils import FailedJobError, UncompletedJobError


class Counter(submitit.helpers.Checkpointable):
    """Waits until it is interrupted; the second life ends at once."""

    def __call__(self, folder):
        lives = os.path.join(folder, "lives")
        with open(lives, "a", encoding="utf-8") as file:
            file.write("life\n")
        with open(lives, encoding="utf-8") as file:
            count = len(file.readlines())
        if count == 1:
            time.sleep(600)
        return count


def executor(name, **more):
    one = submitit.AutoExecutor(folder="log/%j", cluster="slurm")
    one.update_parameters(timeout_min=5, slurm_partition="main", cpus_per_task=1, mem_gb=0.5, slurm_job_name=name, **more)
    return one


def expect(error, job):
    try:
        job.result()
    except error:
        return
    raise AssertionError(f"{job} did not raise {error}")


def wait_running(job):
    while subprocess.run(["squeue", "-h", "-j", job.job_id, "-o", "%T"], capture_output=True, text=True, check=True).stdout.strip() != "RUNNING":
        time.sleep(0.5)


def main():
    checkpoint = executor("si-checkpoint").submit(Counter(), os.getcwd())
    limit = executor("si-limit", slurm_time="1", slurm_signal_delay_s=30).submit(time.sleep, 600)
    cancelled = executor("si-cancel").submit(time.sleep, 600)
    added = executor("si-add").submit(operator.add, 2, 3)
    array = executor("si-array", slurm_array_parallelism=2).map_array(operator.mul, [1, 2, 3, 4, 5], [2] * 5)
    failing = executor("si-fail").submit(operator.truediv, 1, 0)
    assert added.result() == 5
    assert [job.result() for job in array] == [2, 4, 6, 8, 10]
    expect(FailedJobError, failing)
    wait_running(cancelled)
    cancelled.cancel(check=False)
    expect((UncompletedJobError, FailedJobError), cancelled)
    wait_running(checkpoint)
    while not os.path.exists("lives"):
        time.sleep(0.5)
    checkpoint._interrupt(timeout=True)
    expect((UncompletedJobError, FailedJobError), limit)
    assert checkpoint.result() == 2


if __name__ == "__main__":
    main()
