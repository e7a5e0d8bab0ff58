/** A counter's values over time, of which rates are made. */
export class Counter {
  private readonly times: number[] = [];
  private readonly values: number[] = [];

  constructor(private readonly samplesMax: number) {}

  note(seconds: number, value: number): void {
    const last = this.values.at(-1);
    if (last !== undefined && value < last) this.clear();
    this.times.push(seconds);
    this.values.push(value);
    if (this.times.length > this.samplesMax) {
      this.times.shift();
      this.values.shift();
    }
  }

  /** Per second, between the two newest samples; 0 where there is none. */
  get rate(): number {
    return this.rateAt(this.times.length - 1);
  }

  /** Times and rates, the oldest first. */
  series(): [number[], number[]] {
    return [this.times.slice(1), this.times.slice(1).map((_, index) => this.rateAt(index + 1))];
  }

  private rateAt(index: number): number {
    const [before, now] = [this.times[index - 1], this.times[index]];
    const [old, value] = [this.values[index - 1], this.values[index]];
    if (before === undefined || now === undefined || old === undefined || value === undefined) return 0;
    return now > before ? (value - old) / (now - before) : 0;
  }

  private clear(): void {
    this.times.length = 0;
    this.values.length = 0;
  }
}

/** A rate in few characters. */
export function rateText(rate: number): string {
  if (rate === 0) return "0/s";
  return rate >= 10 ? `${Math.round(rate).toLocaleString("en")}/s` : `${rate.toFixed(1)}/s`;
}
