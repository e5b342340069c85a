// The types of the kernel's functions, and its enumerators, from its own
// description of its types (BTF).
//
// Thread: any, one at a time.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_FUNCTIONS_KERNEL_TYPES_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_FUNCTIONS_KERNEL_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace countrace::runtime {

struct KernelArgument {
  enum class Kind : std::uint8_t {
    kSigned,
    kUnsigned,
    kPointer,
    kText,   // a pointer to char
    kOther,  // a struct, a decimal: what follows it may lie anywhere
  };
  std::string name;      // empty: it has none
  std::string declared;  // its type, as C writes it
  Kind kind = Kind::kOther;
  std::uint32_t bytes = 0;
};

struct KernelPrototype {
  std::vector<KernelArgument> arguments;
  KernelArgument ret;  // of no bytes: it returns nothing, or a structure
};

// The number of its type; 0: it is not described. Reads the kernel's types,
// once: some hundredths of a second.
std::uint32_t FunctionTypeId(const std::string& module,
                             const std::string& function);

// That of a function of `module` (empty: the kernel itself); absent: its type
// is not described.
std::optional<KernelPrototype> PrototypeOf(const std::string& module,
                                           const std::string& function);

// The value of the kernel's enumerator `name`, a negative one in all 64 bits;
// absent: there is none, or enumerators of this name differ. Reads them all,
// once.
std::optional<std::uint64_t> EnumeratorOf(std::string_view name);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_FUNCTIONS_KERNEL_TYPES_H_
