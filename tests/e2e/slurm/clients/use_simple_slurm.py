"""simple_slurm: an array, a job after another, one after a failure, a time limit, a cancelled one."""
import subprocess
import time

from simple_slurm import Slurm


def main():
    limit = Slurm(job_name="ss-limit", partition="main", time="00:01:00", output="/dev/null")
    limit.sbatch("sleep 600")
    first = Slurm(job_name="ss-first", partition="main", output="first.out").sbatch("sleep 2; echo first >>order")
    Slurm(job_name="ss-second", partition="main", output="second.out", dependency={"afterok": first}).sbatch("echo second >>order")
    failing = Slurm(job_name="ss-fail", partition="main", output="/dev/null").sbatch("exit 3")
    Slurm(job_name="ss-after", partition="main", output="/dev/null", dependency={"afternotok": failing}).sbatch("true")
    Slurm(job_name="ss-array", partition="main", array=range(3), output=f"{Slurm.JOB_ARRAY_MASTER_ID}_{Slurm.JOB_ARRAY_ID}.out").sbatch(
        "echo " + Slurm.SLURM_ARRAY_TASK_ID)
    cancelled = Slurm(job_name="ss-cancel", partition="main", output="/dev/null")
    number = cancelled.sbatch("sleep 600")
    while f'"{number}"' not in subprocess.run(["squeue", "--me", "-t", "R", "-o", '"%i"'], capture_output=True, text=True, check=True).stdout:
        time.sleep(0.5)
    cancelled.scancel.cancel_job(number)
    while subprocess.run(["squeue", "-h", "--me", "-n", "ss-limit,ss-first,ss-second,ss-fail,ss-after,ss-array,ss-cancel"], capture_output=True,
                         text=True, check=True).stdout:
        time.sleep(1)
    with open("order", encoding="utf-8") as file:
        assert file.read() == "first\nsecond\n"


if __name__ == "__main__":
    main()
