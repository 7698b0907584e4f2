"""clusterfutures: a map, and a function that fails (its job ends well: the error travels in the result)."""
import cfut


def main():
    lines = ["#SBATCH --partition=main", "#SBATCH --job-name=cf", "#SBATCH --mem=300"]
    with cfut.SlurmExecutor(additional_setup_lines=lines, keep_logs=True) as executor:
        assert sorted(executor.map(lambda x: x + 1, [1, 2, 3])) == [2, 3, 4]
        try:
            executor.submit(lambda: 1 / 0).result()
        except cfut.RemoteException as error:
            assert "ZeroDivisionError" in str(error)
        else:
            raise AssertionError("no error")


if __name__ == "__main__":
    main()
