#include "gangsched/framework/argument_reader.hpp"

#include <fmt/format.h>

#include <charconv>

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE bool argument_reader::fail(errc code, const std::string& path, std::string reason) {
  if (!failure_) failure_ = error{code, object_, path, std::move(reason)};
  return false;
}

GANGSCHED_INLINE bool argument_reader::root(const argument& args, const field_visit& visit) {
  if (args.empty()) return true;
  return fields(args, "args", [&](std::string_view name, const argument& value, const std::string& path) {
    return name == "apiVersion" || name == "kind" || visit(name, value, path);
  });
}

GANGSCHED_INLINE bool argument_reader::fields(const argument& value, const std::string& path,
                                              const field_visit& visit) {
  const argument::fields* all = value.if_fields();
  if (all == nullptr) return fail(errc::malformed, path, "has to be an object");
  for (std::size_t i = 0; i < all->size(); ++i) {
    const auto& [name, field] = (*all)[i];
    const std::string at = path + '.' + name;
    for (std::size_t before = 0; before < i; ++before) {
      if ((*all)[before].first == name) return fail(errc::duplicate, at, "is there twice");
    }
    if (!visit(name, field, at)) return false;
  }
  return true;
}

GANGSCHED_INLINE bool argument_reader::items(const argument& value, const std::string& path, const item_visit& visit) {
  const argument::list* all = value.if_list();
  if (all == nullptr) return fail(errc::malformed, path, "has to be a list");
  for (std::size_t i = 0; i < all->size(); ++i) {
    if (!visit((*all)[i], fmt::format("{}[{}]", path, i))) return false;
  }
  return true;
}

GANGSCHED_INLINE bool argument_reader::text(const argument& value, const std::string& path, std::string& out) {
  const std::string* found = value.if_text();
  if (found == nullptr) return fail(errc::malformed, path, "has to be a text");
  out = *found;
  return true;
}

GANGSCHED_INLINE bool argument_reader::texts(const argument& value, const std::string& path,
                                             std::vector<std::string>& out) {
  return items(value, path,
               [&](const argument& item, const std::string& at) { return text(item, at, out.emplace_back()); });
}

GANGSCHED_INLINE bool argument_reader::flag(const argument& value, const std::string& path, bool& out) {
  const bool* found = value.if_bool();
  if (found == nullptr) return fail(errc::malformed, path, "has to be true or false");
  out = *found;
  return true;
}

GANGSCHED_INLINE bool argument_reader::number(const argument& value, const std::string& path, std::int64_t least,
                                              std::int64_t most, std::int64_t& out) {
  const std::int64_t* found = value.if_int();
  if (found == nullptr) return fail(errc::malformed, path, "has to be a whole number");
  if (*found < least || *found > most) {
    return fail(errc::out_of_range, path, fmt::format("{} is not in {} to {}", *found, least, most));
  }
  out = *found;
  return true;
}

GANGSCHED_INLINE bool argument_reader::real(const argument& value, const std::string& path, double least, double most,
                                            double& out) {
  double made = 0;
  if (const std::int64_t* whole = value.if_int()) {
    made = static_cast<double>(*whole);
  } else if (const double* any = std::get_if<double>(&value.value)) {
    made = *any;
  } else {
    const std::string* said = value.if_text();
    if (said == nullptr) return fail(errc::malformed, path, "has to be a number");
    const auto [end, wrong] = std::from_chars(said->data(), said->data() + said->size(), made);
    if (wrong != std::errc{} || end != said->data() + said->size())
      return fail(errc::malformed, path, '"' + *said + "\" is not a number");
  }
  if (!(made >= least && made <= most))
    return fail(errc::out_of_range, path, fmt::format("{} is not in {} to {}", made, least, most));
  out = made;
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI
