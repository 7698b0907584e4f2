"""An application of hydra whose sweep runs as an array through hydra-submitit-launcher."""
import hydra


@hydra.main(version_base=None, config_path=None)
def main(config):
    assert config.x in (1, 2, 3)
    if config.x == 3:
        raise ValueError("three is too many")
    with open(f"{config.out}/x{config.x}", "w", encoding="utf-8") as file:
        file.write("done\n")


if __name__ == "__main__":
    main()
