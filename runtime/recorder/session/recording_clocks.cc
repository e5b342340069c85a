#include <sys/timex.h>
#include <time.h>

#include <algorithm>
#include <span>

#include "base/posix/errno_status.h"
#include "base/posix/kernel_clock.h"
#include "logformat/loss.h"
#include "logformat/read/clock_samples.h"
#include "runtime/recorder/session/recording.h"

namespace countrace::runtime {

void Recording::BeginClocks() {
  logformat::PacketWriterOptions options;
  options.directory = directory_.path();
  options.file = logformat::kClockStream;
  options.stream_class = logformat::StreamClass::kClock;
  std::ranges::copy(session_.control().uuid, options.uuid.begin());
  options.packet_bytes = 2 * logformat::kPacketAlignBytes;  // 100 samples
  auto writer = logformat::PacketWriter::Create(options);
  if (writer.ok()) {
    clocks_ = *std::move(writer);
    SampleClocks();
  } else {
    AddNotRecorded({logformat::Unavailable("The clocks are not sampled: " +
                                           base::StatusText(writer.status()))});
  }
}

// Stores the try with the smallest width; without room it is counted there.
void Recording::SampleClocks() {
  if (clocks_ == nullptr) return;
  static const bool has_raw = IsRawClockUsable();
  logformat::ClockRecord best{};
  best.width_ns = ~0ull;
  std::uint64_t best_ns = 0;
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t before = MonotonicNs();
    logformat::ClockRecord sample{};
    sample.raw = has_raw ? RawCounter() : 0;
    sample.realtime_ns = base::KernelClockNs(CLOCK_REALTIME);
    sample.tai_ns = base::KernelClockNs(CLOCK_TAI);
    sample.width_ns = MonotonicNs() - before;
    if (sample.width_ns >= best.width_ns) continue;
    best = sample;
    best_ns = before + sample.width_ns / 2;
  }
  timex kernel{};  // no modes: it only reads
  best.state = adjtimex(&kernel);
  best.status = static_cast<std::uint32_t>(kernel.status);
  best.max_error_us = static_cast<std::uint64_t>(kernel.maxerror);
  best.estimated_error_us = static_cast<std::uint64_t>(kernel.esterror);
  best.frequency = kernel.freq;
  best.offset_ns = kernel.offset;
  if ((kernel.status & STA_NANO) == 0) best.offset_ns *= 1000;
  clocks_->Append(
      logformat::kClockSampleEvent, best_ns,
      std::as_bytes(std::span(&best, 1)).subspan(sizeof(best.header)));
  next_clock_ns_ = best_ns + 10'000'000'000;
}

}  // namespace countrace::runtime
