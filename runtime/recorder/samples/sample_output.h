// Where the records of one sample go: all have its time and its thread.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_OUTPUT_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "logformat/sample_points.h"
#include "logformat/write/packet_writer.h"

namespace countrace::runtime {

struct SampleOutput {
  std::size_t cpu;  // its index
  std::uint64_t time_ns;
  std::uint64_t ids;  // as in KernelHookRecord
  logformat::PacketWriter& writer;

  void Append(std::uint16_t event_id, std::span<const std::uint64_t> numbers,
              std::span<const std::string> texts = {}) const {
    writer.Append(event_id, time_ns,
                  logformat::SampleRecordBody(ids, numbers, texts));
  }
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_OUTPUT_H_
