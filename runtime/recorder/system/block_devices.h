// Names of block devices, from /sys, each looked up once.
//
// Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_BLOCK_DEVICES_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_BLOCK_DEVICES_H_

#include <cstdint>
#include <map>
#include <string>

namespace countrace::runtime {

class BlockDevices {
 public:
  // "254:0 vda"; "254:0" where /sys has no name. `device`: the kernel's dev_t.
  const std::string& Text(std::uint32_t device);

 private:
  std::map<std::uint32_t, std::string> texts_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_BLOCK_DEVICES_H_
