#include "runtime/recorder/directory/flight_keeper.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/text/quantity_format.h"
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
    if (file.stream_class == StreamClass::kClock) continue;  // kept whole
    streams_.try_emplace(file.name, trace_, file);
  }
  for (auto& [name, stream] : streams_) Note(stream.FindClosed());
}

FlightStream* FlightKeeper::Oldest() {
  FlightStream* oldest = nullptr;
  for (auto& [name, stream] : streams_) {
    if (stream.oldest_end_ns() == ~std::uint64_t{0}) continue;
    if (oldest == nullptr || stream.oldest_end_ns() < oldest->oldest_end_ns()) {
      oldest = &stream;
    }
  }
  return oldest;
}

bool FlightKeeper::DropOldest(FlightStream& stream) {
  const absl::Status known = hooks_.Refresh();
  Note(known);
  if (!known.ok()) return false;
  const bool cpu = stream.stream_class() == StreamClass::kCpu;
  const auto bytes = stream.DropOldest(hooks_.table(stream.stream_class()));
  Note(bytes.status());
  if (!bytes.ok() || *bytes == 0) return false;
  // Relaxed: a quota of the threads; it orders nothing.
  if (!cpu) control_.used_bytes.fetch_sub(*bytes, std::memory_order_relaxed);
  return true;
}

std::uint64_t FlightKeeper::closed_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [name, stream] : streams_) bytes += stream.closed_bytes();
  return bytes;
}

void FlightKeeper::Keep(std::uint64_t now_ns) {
  FindStreams();
  const std::uint64_t from_ns =
      age_ns_ == 0 || age_ns_ > now_ns ? 0 : now_ns - age_ns_;
  while (FlightStream* const oldest = Oldest()) {
    const bool is_old = oldest->oldest_end_ns() < from_ns;
    if (!is_old && closed_bytes() <= limit_bytes_) return;
    if (!DropOldest(*oldest)) return;
    is_short_ |= !is_old && age_ns_ != 0;
  }
}

std::vector<std::string> FlightKeeper::Finish() {
  FindStreams();
  for (auto& [name, stream] : streams_) Note(stream.Renumber());
  if (is_short_) {
    messages_.push_back(absl::StrFormat(
        "The flight recording has less than the newest %s: these need more "
        "than %s; a larger --size keeps them",
        base::FormatNanoseconds(static_cast<double>(age_ns_)),
        base::FormatBytes(limit_bytes_)));
  }
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
