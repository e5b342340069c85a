#include "runtime/recorder/kernel/kernel_record.h"

#include <algorithm>

namespace countrace::runtime {

std::uint64_t RecordBatch::SortFrom(std::size_t first) {
  std::uint64_t out_of_order = 0;
  for (std::size_t i = first + 1; i < records_.size(); ++i) {
    if (records_[i].time_ns < records_[i - 1].time_ns) ++out_of_order;
  }
  if (out_of_order == 0) return 0;
  std::stable_sort(records_.begin() + static_cast<std::ptrdiff_t>(first),
                   records_.end(),
                   [](const KernelRecord& a, const KernelRecord& b) {
                     return a.time_ns < b.time_ns;
                   });
  return out_of_order;
}

void RecordBatch::Consume(std::size_t count) {
  if (count == records_.size()) {
    records_.clear();
    words_.clear();
    return;
  }
  if (count == 0) return;
  // Few records stay (those after the horizon): move them to the front.
  std::vector<KernelRecord> kept(
      records_.begin() + static_cast<std::ptrdiff_t>(count), records_.end());
  std::vector<std::uint64_t> words;
  for (KernelRecord& record : kept) {
    const std::size_t at = words.size();
    words.insert(
        words.end(), words_.begin() + static_cast<std::ptrdiff_t>(record.body),
        words_.begin() +
            static_cast<std::ptrdiff_t>(record.body + record.body_words));
    record.body = at;
  }
  records_ = std::move(kept);
  words_ = std::move(words);
}

}  // namespace countrace::runtime
