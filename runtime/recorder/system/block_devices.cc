#include "runtime/recorder/system/block_devices.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_format.h"

namespace countrace::runtime {

const std::string& BlockDevices::Text(std::uint32_t device) {
  const auto [entry, is_new] = texts_.try_emplace(device);
  if (!is_new) return entry->second;
  constexpr unsigned kMinorBits = 20;  // include/linux/kdev_t.h
  entry->second = absl::StrFormat("%d:%d", device >> kMinorBits,
                                  device & ((1u << kMinorBits) - 1));
  std::error_code error;
  const auto link =
      std::filesystem::read_symlink("/sys/dev/block/" + entry->second, error);
  if (!error) entry->second += " " + link.filename().string();
  return entry->second;
}

}  // namespace countrace::runtime
