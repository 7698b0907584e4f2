// Messages of the daemon for cells with little room. The whole message stands beside it, on hover.

/** What tells one message from another: Kueue begins those about quota with the same words. */
export const briefly = (message: string): string => message.replace(/couldn't assign flavors to pod set [^:]+: /g, "");
