import { Refused, said } from "../api/client";

/** What to say when a question about a query has no answer. */
export function kindly(error: unknown, what: string): string {
  if (!(error instanceof Refused)) return said(error);
  switch (error.status) {
    case 501:
      return `This service cannot give ${what} yet.`;
    case 410:
      return `The events that ${what} needs are past retention.`;
    case 401:
    case 403:
      return `Your token does not allow to ask for ${what}.`;
    default:
      return error.message;
  }
}
