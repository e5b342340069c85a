#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_FIELD_LOAD_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_FIELD_LOAD_H_

#include <cstddef>
#include <cstring>
#include <span>

namespace countrace::runtime {

// A field of a perf record. False: the record ends before.
template <typename T>
bool Load(std::span<const std::byte> bytes, std::size_t at, T& out) {
  if (bytes.size() < at + sizeof(T)) return false;
  std::memcpy(&out, bytes.data() + at, sizeof(T));
  return true;
}

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_FIELD_LOAD_H_
