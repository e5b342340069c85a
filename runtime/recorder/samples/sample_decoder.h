// PERF_RECORD_SAMPLE to entries of a batch (sample_entries.h).
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_DECODER_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "logformat/sample_points.h"
#include "runtime/recorder/kernel/ring/kernel_record.h"

namespace countrace::runtime {

// Which fields the samples of an event have.
struct SampleFormat {
  std::uint16_t event = 0;   // its index in entries
  std::uint64_t period = 0;  // 0: each sample has its own
  bool has_stacks = false;   // copies of them, with registers
  logformat::SampleData data = logformat::SampleData::kNone;
};

// `body`: behind the head of the record. Stacks of `own_pid` are not taken.
// Returns: 0; of a sample of the idle CPU, which is no entry, its period.
std::uint64_t AddSample(const SampleFormat& format,
                        std::span<const std::byte> body, std::uint32_t own_pid,
                        RecordBatch& batch);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_DECODER_H_
