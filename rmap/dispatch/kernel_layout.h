// The fixed layouts of kernel records (logformat/packet_layout.h).
#ifndef COUNTRACE_RMAP_DISPATCH_KERNEL_LAYOUT_H_
#define COUNTRACE_RMAP_DISPATCH_KERNEL_LAYOUT_H_

#include <cstring>

#include "logformat/records.h"

namespace countrace::rmap {

// Copies the layout of `record`. Returns false if the record is shorter.
template <typename Layout>
bool Decode(const logformat::EventRecord& record, Layout& out) {
  if (record.bytes.size() < sizeof(Layout)) return false;
  std::memcpy(&out, record.bytes.data(), sizeof(Layout));
  return true;
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_DISPATCH_KERNEL_LAYOUT_H_
