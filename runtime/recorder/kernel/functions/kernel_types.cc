#include "runtime/recorder/kernel/functions/kernel_types.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <cstring>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace countrace::runtime {
namespace {

struct Types {
  const btf* all = nullptr;  // null: not described
  std::unordered_map<std::string_view, std::uint32_t> functions;
};

// Never freed: a few MiB, for the life of the recorder.
const Types& TypesOf(const std::string& module) {
  static std::map<std::string, Types> known;
  const auto [at, added] = known.try_emplace(module);
  if (!added) return at->second;
  // A module without types is none of its warnings.
  const libbpf_print_fn_t old = libbpf_set_print(nullptr);
  const btf* types = nullptr;
  if (module.empty()) {
    types = btf__load_vmlinux_btf();
  } else if (const btf* const kernel = TypesOf("").all) {
    types = btf__load_module_btf(module.c_str(), const_cast<btf*>(kernel));
  }
  libbpf_set_print(old);
  Types& of = known[module];
  of.all = types;
  const btf* const base = types == nullptr ? nullptr : btf__base_btf(types);
  for (std::uint32_t id = base == nullptr ? 1 : btf__type_cnt(base);
       types != nullptr && id < btf__type_cnt(types); ++id) {
    const btf_type* const type = btf__type_by_id(types, id);
    if (!btf_is_func(type)) continue;
    of.functions.emplace(btf__name_by_offset(types, type->name_off), id);
  }
  return of;
}

const char* NameOf(const btf* types, const btf_type* type) {
  const char* const name = btf__name_by_offset(types, type->name_off);
  return name == nullptr ? "" : name;
}

// As C writes it, for the user.
std::string TypeText(const btf* types, std::uint32_t id) {
  const btf_type* const type = btf__type_by_id(types, id);
  if (id == 0 || type == nullptr) return "void";
  if (btf_is_ptr(type)) return TypeText(types, type->type) + " *";
  if (btf_is_const(type)) return "const " + TypeText(types, type->type);
  if (btf_is_mod(type) && !btf_is_typedef(type)) {
    return TypeText(types, type->type);
  }
  const char* const what = btf_is_struct(type)  ? "struct "
                           : btf_is_union(type) ? "union "
                           : btf_is_enum(type)  ? "enum "
                                                : "";
  return what + std::string(NameOf(types, type));
}

const btf_type* Resolved(const btf* types, std::uint32_t id) {
  const btf_type* type = btf__type_by_id(types, id);
  while (type != nullptr && (btf_is_mod(type) || btf_is_typedef(type))) {
    type = btf__type_by_id(types, type->type);
  }
  return type;
}

KernelArgument TypeOf(const btf* types, std::uint32_t id) {
  KernelArgument argument;
  argument.declared = TypeText(types, id);
  if (id == 0) return argument;
  const btf_type* const type = Resolved(types, id);
  if (type == nullptr) return argument;
  if (btf_is_ptr(type)) {
    const btf_type* const to = Resolved(types, type->type);
    const bool text = to != nullptr && btf_is_int(to) && to->size == 1 &&
                      std::strcmp(NameOf(types, to), "char") == 0;
    argument.kind =
        text ? KernelArgument::Kind::kText : KernelArgument::Kind::kPointer;
    argument.bytes = 8;
    return argument;
  }
  const bool number =
      btf_is_int(type) || btf_is_enum(type) || btf_is_enum64(type);
  if (!number || type->size > 8) return argument;
  const bool is_unsigned =
      btf_is_int(type) && (btf_int_encoding(type) & BTF_INT_SIGNED) == 0;
  argument.kind = is_unsigned ? KernelArgument::Kind::kUnsigned
                              : KernelArgument::Kind::kSigned;
  argument.bytes = type->size;
  return argument;
}

}  // namespace

std::uint32_t FunctionTypeId(const std::string& module,
                             const std::string& function) {
  const Types& types = TypesOf(module);
  const auto found = types.functions.find(function);
  return found == types.functions.end() ? 0 : found->second;
}

std::optional<KernelPrototype> PrototypeOf(const std::string& module,
                                           const std::string& function) {
  const std::uint32_t id = FunctionTypeId(module, function);
  if (id == 0) return std::nullopt;
  const btf* const types = TypesOf(module).all;
  const btf_type* const described = btf__type_by_id(types, id);
  const btf_type* const type = btf__type_by_id(types, described->type);
  KernelPrototype prototype;
  prototype.ret = TypeOf(types, type->type);
  for (std::size_t i = 0; i < btf_vlen(type); ++i) {
    const btf_param& parameter = btf_params(type)[i];
    KernelArgument argument = TypeOf(types, parameter.type);
    const char* const name = btf__name_by_offset(types, parameter.name_off);
    if (name != nullptr) argument.name = name;
    prototype.arguments.push_back(std::move(argument));
  }
  return prototype;
}

std::optional<std::uint64_t> EnumeratorOf(std::string_view name) {
  using Values =
      std::unordered_map<std::string_view, std::optional<std::uint64_t>>;
  static const Values& known = *new Values([] {
    Values values;
    const btf* const types = TypesOf("").all;
    const std::uint32_t count = types == nullptr ? 0 : btf__type_cnt(types);
    for (std::uint32_t id = 1; id < count; ++id) {
      const btf_type* const type = btf__type_by_id(types, id);
      if (!btf_is_enum(type)) continue;
      for (std::uint16_t i = 0; i < btf_vlen(type); ++i) {
        const auto& one = btf_enum(type)[i];
        const auto value = static_cast<std::uint64_t>(std::int64_t{one.val});
        const auto [found, first] =
            values.emplace(btf__name_by_offset(types, one.name_off), value);
        if (!first && found->second != value) found->second.reset();
      }
    }
    return values;
  }());
  const auto found = known.find(name);
  return found == known.end() ? std::nullopt : found->second;
}

}  // namespace countrace::runtime
