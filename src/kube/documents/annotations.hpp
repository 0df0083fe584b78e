#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/src/kube/documents/reader.hpp"

/// Text inside objects that is a document itself.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// What the text of an annotation may cost: Kubernetes has 256 KiB for all of an object, and every pod may have some.
inline constexpr limits of_annotation{.bytes = std::size_t{256} << 10, .depth = 20, .values = 20'000, .copied = 1000};

/// A duration (`parse_duration`) that is not negative; @p like: how it could have been written, for the error.
bool read_duration(reader& read, const place& of, std::string_view like, instant& out);

/// A part of an object that has been read already, for messages.
struct spot {
  std::uint32_t line = 0;
  std::string path = {};
};
/// As far as @p of has it. A step is the name of a field, or "[2]".
spot find_spot(const place& of, std::initializer_list<std::string_view> steps);

/// Reads what an annotation has in JSON or YAML: each(reader, place). What is wrong inside counts as wrong with the annotation.
template <class Each>
bool read_inside(reader& read, const spot& at, const std::string& text, const Each& each,
                 const limits& most = of_annotation) {
  const auto told = [&](errc code, const std::string& field, std::string reason) {
    return read.fail(code, at.line, at.path + (field.empty() || field[0] == '[' ? "" : ".") + field, std::move(reason));
  };
  auto parsed = parse(source{"annotation.yaml", text}, most);
  if (!parsed) return told(errc::malformed, "", "is neither JSON nor YAML: " + parsed.error().reason);
  if (parsed->size() != 1) return told(errc::malformed, "", "is not one value");
  std::vector<warning> warnings;
  reader inner{read.file(), read.object(), &warnings};
  if (!each(inner, place{&parsed->front().root})) {
    error wrong = std::move(inner).failure();
    return told(wrong.code, wrong.field, std::move(wrong.reason));
  }
  for (warning& one : warnings)
    read.warn(at.line, at.path + (one.field.starts_with('[') ? "" : ".") + one.field, one.reason);
  return true;
}

/// Calls each(reader, place) with what an annotation of the object at @p of has, if it has it.
template <class Each>
bool read_annotation(reader& read, const place& of, const char* name, const Each& each) {
  const value* const meta = of.at->find("metadata");
  const value* const all = meta == nullptr ? nullptr : meta->find("annotations");
  const value* const found = all == nullptr ? nullptr : all->find(name);
  if (found == nullptr || found->kind != value_kind::text || found->text.empty()) return true;
  return read_inside(read, find_spot(of, {"metadata", "annotations", name}), std::string{found->text}, each);
}

/// The same of one that is left out with a warning if something is wrong with it; false then, and some of it may have been read.
template <class Each>
bool read_if_sound(reader& read, const place& of, const char* name, const Each& each) {
  std::vector<warning> warnings;
  reader own{read.file(), read.object(), &warnings};
  const std::uint32_t line = find_spot(of, {"metadata", "annotations", name}).line;
  const bool fine = read_annotation(own, of, name, each);
  if (!fine) {
    error wrong = std::move(own).failure();
    read.warn(line, std::move(wrong.field), wrong.reason + "; the annotation is left out");
    return false;
  }
  for (warning& one : warnings) read.warn(line, std::move(one.field), std::move(one.reason));
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
