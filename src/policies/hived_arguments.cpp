#include "gangsched/policies/hived_arguments.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

class hived_cells_reader {
 public:
  static constexpr std::int64_t most_cells = 1'000'000;  // physical and virtual ones, which a few lines may ask for

  hived_cells_reader(argument_reader& read, queues::hived::configuration& out) : read_(&read), out_(&out) {}

  bool run(const argument& physical, const argument& virtual_ones) {
    const std::string path = "args.physicalCluster";
    bool fine = true;
    if (const argument* all = physical.find("cellTypes")) fine = types(*all, path + ".cellTypes");  // cells are of them
    fine = fine && read_->fields(physical, path, [&](std::string_view key, const argument& v, const std::string& at) {
      if (key == "cellTypes") return true;
      if (key != "physicalCells") return read_->unknown(at);
      return read_->items(v, at, [&](const argument& item, const std::string& its) {
        return cell(item, its, out_->cells.emplace_back(), "", false) && afford(its, 1, out_->cells.back().type);
      });
    });
    return fine && (virtual_ones.empty() || clusters(virtual_ones, "args.virtualClusters"));
  }

 private:
  using cell_type = queues::hived::cell_type;

  bool count(const argument& value, const std::string& path, std::int64_t least, std::uint32_t& out) {
    std::int64_t said = 0;
    if (!read_->number(value, path, least, most_cells, said)) return false;
    return out = static_cast<std::uint32_t>(said), true;
  }

  bool types(const argument& of, const std::string& path) {
    return read_->fields(of, path, [&](std::string_view name, const argument& v, const std::string& at) {
      cell_type& made = out_->types.emplace_back();
      made.name = name;
      return read_->fields(v, at, [&](std::string_view key, const argument& w, const std::string& its) {
        if (key == "childCellType") return read_->text(w, its, made.child);
        if (key == "childCellNumber") return count(w, its, 1, made.children);
        if (key == "isNodeLevel") return read_->flag(w, its, made.is_node);
        return read_->unknown(its);
      });
    });
  }
  [[nodiscard]] const cell_type* type(const std::string& name) const {
    const auto found =
        std::find_if(out_->types.begin(), out_->types.end(), [&](const cell_type& one) { return one.name == name; });
    return found == out_->types.end() ? nullptr : &*found;
  }
  /// Cells in one of a type, itself included; more than there may be if types are within themselves.
  [[nodiscard]] std::int64_t cells_in(const std::string& name) const {
    std::int64_t made = 1, level = 1;
    std::size_t depth = 0;
    for (const cell_type* at = type(name); at != nullptr; at = type(at->child)) {
      level = std::min(level * at->children, most_cells + 1);
      made = std::min(made + level, most_cells + 1);
      if (++depth > out_->types.size()) return most_cells + 1;
    }
    return made;
  }
  bool afford(const std::string& path, std::int64_t number, const std::string& name) {
    cells_ += number * cells_in(name);
    return cells_ <= most_cells || read_->fail(errc::out_of_range, path, "there would be more than 1000000 cells");
  }

  /// @p below: it is part of a node.
  bool cell(const argument& of, const std::string& path, queues::hived::physical_cell& out, std::string of_type,
            bool below) {
    if (const argument* named = of.find("cellType"); named != nullptr && of_type.empty()) {
      if (!read_->text(*named, path + ".cellType", out.type)) return false;
      of_type = out.type;
    }
    const cell_type* const is = type(of_type);
    if (is == nullptr && !below) return read_->fail(errc::unknown, path, "no cell type \"" + of_type + "\"");
    const bool node = is != nullptr && is->is_node;
    return read_->fields(of, path, [&](std::string_view key, const argument& v, const std::string& at) {
      if (key == "cellType") return true;
      if (key == "cellAddress") return address(v, at, out, node, is == nullptr);
      if (key == "pinnedCellId") return read_->text(v, at, out.pin);
      if (key != "cellChildren") return read_->unknown(at);
      if (is == nullptr) return read_->fail(errc::malformed, at, "are in a device");
      return read_->items(v, at, [&](const argument& item, const std::string& its) {
        return cell(item, its, out.children.emplace_back(), is->child, below || node);
      });
    });
  }
  /// Only nodes and devices are called by it.
  bool address(const argument& v, const std::string& path, queues::hived::physical_cell& out, bool node, bool device) {
    std::string said;
    if (const std::int64_t* number = v.if_int())
      said = std::to_string(*number);
    else if (!read_->text(v, path, said))
      return false;
    if (node) return out.node = std::move(said), true;
    if (!device) return true;
    const auto [end, bad] = std::from_chars(said.data(), said.data() + said.size(), out.device.emplace());
    return (bad == std::errc{} && end == said.data() + said.size() && *out.device >= 0) ||
           read_->fail(errc::malformed, path, "\"" + said + "\" is no number of a device");
  }

  bool clusters(const argument& of, const std::string& path) {
    return read_->fields(of, path, [&](std::string_view name, const argument& v, const std::string& at) {
      queues::hived::virtual_cluster_spec& made = out_->clusters.emplace_back();
      made.name = name;
      return read_->fields(v, at, [&](std::string_view key, const argument& w, const std::string& its) {
        if (key == "virtualCells")
          return read_->items(w, its, [&](const argument& item, const std::string& where) {
            return quota(item, where, made.cells.emplace_back());
          });
        if (key != "pinnedCells") return read_->unknown(its);
        return read_->items(w, its, [&](const argument& item, const std::string& where) {
          std::string& pin = made.pins.emplace_back();
          return read_->fields(item, where, [&](std::string_view word, const argument& x, const std::string& end) {
            return word == "pinnedCellId" ? read_->text(x, end, pin) : read_->unknown(end);
          });
        });
      });
    });
  }
  /// {cellType: RACK.NODE.SOCKET, cellNumber}
  bool quota(const argument& of, const std::string& path, queues::hived::cell_quota& out) {
    std::string way;
    const bool fine = read_->fields(of, path, [&](std::string_view key, const argument& v, const std::string& at) {
      if (key == "cellNumber") return count(v, at, 0, out.count);
      return key == "cellType" ? read_->text(v, at, way) : read_->unknown(at);
    });
    if (!fine) return false;
    std::string before;
    for (std::size_t from = 0;;) {
      const std::size_t dot = std::min(way.find('.', from), way.size());
      out.type = way.substr(from, dot - from);
      if (const cell_type* above = type(before); !before.empty() && (above == nullptr || above->child != out.type))
        return read_->fail(errc::unknown, path, "a \"" + before + "\" is not made of \"" + out.type + "\"");
      if (from == 0 && dot < way.size()) out.chain = out.type;
      if (dot == way.size()) break;
      before = out.type;
      from = dot + 1;
    }
    return afford(path, out.count, out.type);
  }

  argument_reader* read_;
  queues::hived::configuration* out_;
  std::int64_t cells_ = 0;
};

}  // namespace detail

GANGSCHED_INLINE bool read_hived_cells(argument_reader& read, const argument& physical, const argument& virtual_ones,
                                       queues::hived::configuration& out) {
  return detail::hived_cells_reader{read, out}.run(physical, virtual_ones);
}

}  // namespace gangsched::inline GANGSCHED_ABI
