// Messages of the daemon for the cells of tables. The page of a job has the whole of each.

/** What tells one message from another: Kueue begins those about quota with the same words. */
export const briefly = (message: string): string => message.replace(/couldn't assign flavors to pod set [^:]+: /g, "");
