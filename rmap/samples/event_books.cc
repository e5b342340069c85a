#include "rmap/samples/event_books.h"

namespace countrace::rmap {

std::vector<SampleBooks> SampleBooksOf(const Samples& samples) {
  std::vector<SampleBooks> all(samples.events.size());
  std::vector<double> squares(all.size());
  for (std::uint32_t event = 0; event < all.size(); ++event) {
    all[event].event = event;
    all[event].stacks_lost = samples.stacks_lost;
  }
  for (const SampleSum& sum : samples.sums) {
    all[sum.event].hits += sum.hits;
    all[sum.event].processes += sum.periods;
    squares[sum.event] += sum.squared_periods;
  }
  std::vector<std::uint64_t> counts(all.size());
  for (const SampleCount& count : samples.counts) {
    SampleBooks& books = all[count.event];
    books.counted += count.counted;
    books.idle += count.idle;
    books.outside += count.outside;
    books.lost += count.lost;
    books.throttled += count.throttled;
    ++counts[count.event];
  }
  for (const ShortWaits& waits : samples.shorts) {
    SampleBooks& books = all[waits.event];
    books.shorter += waits.shorter;
    books.shorter_ns += waits.shorter_ns;
    books.lost_ns += waits.lost_ns;
    books.unseen += waits.unseen;
  }
  for (SampleBooks& books : all) {
    const std::uint64_t times = samples.events[books.event].periods;
    if (books.hits > 0) {
      // Each of two periods is left on each CPU: their mean by weight.
      const std::uint64_t period =
          times == 1 ? books.processes / books.hits
                     : static_cast<std::uint64_t>(
                           squares[books.event] /
                           static_cast<double>(books.processes));
      books.per_cpu = counts[books.event] * period;
    }
    for (std::uint64_t* const sum :
         {&books.counted, &books.processes, &books.idle, &books.outside,
          &books.per_cpu}) {
      *sum /= times;
    }
    books.residual = static_cast<std::int64_t>(
        books.counted - books.processes - books.idle - books.outside -
        books.shorter_ns - books.lost_ns);
  }
  return all;
}

}  // namespace countrace::rmap
