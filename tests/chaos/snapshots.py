"""Is a list a picture of one moment? One writer numbers the jobs of a row again and again, each after the one before it was acknowledged; so at
any moment the numbers along the row never grow, and differ by one at most."""


def torn(numbers):
    """None if some moment had these numbers; else the sentence of what is wrong."""
    if any(before < behind for before, behind in zip(numbers, numbers[1:])):
        return f"a later write is seen and an earlier one is not: {numbers}"
    if numbers and numbers[0] - numbers[-1] > 1:
        return f"two rounds of writes are mixed: {numbers}"
    return None
