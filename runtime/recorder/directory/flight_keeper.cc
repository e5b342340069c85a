#include "runtime/recorder/directory/flight_keeper.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "logformat/description/trace_directory.h"

namespace countrace::runtime {

using logformat::FlightStream;
using logformat::StreamClass;

void FlightKeeper::Note(const absl::Status& status) {
  if (status.ok() || !messages_.empty()) return;  // report the first one only
  messages_.push_back(
      absl::StrFormat("The flight recording may be larger than requested: %s",
                      base::StatusText(status)));
}

void FlightKeeper::FindStreams() {
  const auto directory = logformat::ListTraceDirectory(trace_);
  if (!directory.ok()) return Note(directory.status());
  for (const logformat::StreamFile& file : directory->streams) {
    streams_.try_emplace(file.name, trace_, file);
  }
  for (auto& [name, stream] : streams_) Note(stream.FindClosed());
}

bool FlightKeeper::DropOne() {
  FlightStream* oldest = nullptr;
  for (auto& [name, stream] : streams_) {
    if (stream.oldest_end_ns() == ~std::uint64_t{0}) continue;
    if (oldest == nullptr || stream.oldest_end_ns() < oldest->oldest_end_ns()) {
      oldest = &stream;
    }
  }
  if (oldest == nullptr) return false;
  const absl::Status known = hooks_.Refresh();
  Note(known);
  if (!known.ok()) return false;
  const bool cpu = oldest->stream_class() == StreamClass::kCpu;
  const auto bytes = oldest->DropOldest(hooks_.table(oldest->stream_class()));
  Note(bytes.status());
  if (!bytes.ok() || *bytes == 0) return false;
  // Relaxed: a quota of the threads; it orders nothing.
  if (!cpu) control_.used_bytes.fetch_sub(*bytes, std::memory_order_relaxed);
  return true;
}

void FlightKeeper::Keep() {
  FindStreams();
  std::uint64_t kept = 0;
  for (const auto& [name, stream] : streams_) kept += stream.closed_bytes();
  while (kept > limit_bytes_) {
    const std::uint64_t before = kept;
    if (!DropOne()) return;
    kept = 0;
    for (const auto& [name, stream] : streams_) kept += stream.closed_bytes();
    if (kept >= before) return;
  }
}

std::vector<std::string> FlightKeeper::Finish() {
  FindStreams();
  for (auto& [name, stream] : streams_) Note(stream.Renumber());
  return std::exchange(messages_, {});
}

std::uint64_t FlightKeeper::overwritten_records() const {
  std::uint64_t sum = 0;
  for (const auto& [name, stream] : streams_) {
    sum += stream.overwritten_records();
  }
  return sum;
}

std::uint64_t FlightKeeper::overwritten_to(const std::string& file) const {
  const auto stream = streams_.find(file);
  return stream == streams_.end() ? 0 : stream->second.overwritten_to();
}

}  // namespace countrace::runtime
