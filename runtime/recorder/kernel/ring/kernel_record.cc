#include "runtime/recorder/kernel/ring/kernel_record.h"

#include <algorithm>
#include <utility>

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
  const std::size_t used_words = words_.size();
  if (count == records_.size()) {
    records_.clear();
    words_.clear();
    DropUnusedRoom(used_words);
    return;
  }
  if (count == 0) return;
  // Few records stay (those after the horizon): move them to the front. Memory
  // is kept: with a sample for each page fault, new pages here are new samples.
  spare_words_.clear();
  for (std::size_t i = count; i < records_.size(); ++i) {
    KernelRecord record = records_[i];
    const auto from = words_.begin() + static_cast<std::ptrdiff_t>(record.body);
    record.body = spare_words_.size();
    spare_words_.insert(spare_words_.end(), from, from + record.body_words);
    records_[i - count] = record;
  }
  records_.resize(records_.size() - count);
  words_.swap(spare_words_);
  DropUnusedRoom(used_words);
}

void RecordBatch::DropUnusedRoom(std::size_t used_words) {
  most_words_ = std::max(most_words_, used_words);
  if (++rounds_ < kRounds) return;
  const std::size_t most = std::exchange(most_words_, 0);
  rounds_ = 0;
  if (room_bytes() <= kKeptBytes || words_.capacity() / 4 <= most) return;
  words_.shrink_to_fit();
  records_.shrink_to_fit();
  spare_words_ = {};
}

}  // namespace countrace::runtime
