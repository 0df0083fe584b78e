#include "gangsched/src/c/callbacks.hpp"

#include <array>

#include "gangsched/framework/lower.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/src/c/json.hpp"

namespace gangsched::inline GANGSCHED_ABI::c {
namespace {

constexpr std::size_t batch =
    64;  // nodes, on the stack: hooks of one plugin may run in several threads, each with a cluster of its own

/// What the callbacks of one profile are called with.
struct instance {
  explicit instance(std::shared_ptr<const callback_table> of) : table(std::move(of)) {}
  instance(const instance&) = delete;
  instance& operator=(const instance&) = delete;
  ~instance() {
    if (made && table->hooks.destroy_instance != nullptr) table->hooks.destroy_instance(data);
  }
  std::shared_ptr<const callback_table> table;
  void* data = nullptr;
  bool made = false;
};

status to_status(const gangsched_verdict& said) noexcept {
  const char* const why = said.reason == nullptr ? "rejected by the plugin" : said.reason;
  switch (said.code) {
    case GANGSCHED_SUCCESS: return {};
    case GANGSCHED_ERROR: return status::error(why);
    case GANGSCHED_UNSCHEDULABLE: return status::unschedulable(why);
    case GANGSCHED_UNRESOLVABLE: return status::unresolvable(why);
    case GANGSCHED_PERMIT_WAIT: return status::wait(why);
    default: return status::error("the plugin said a code that is none");
  }
}
/// The same for hooks other than permit, in which a pod cannot wait.
status to_verdict(const gangsched_verdict& said) noexcept {
  return said.code == GANGSCHED_PERMIT_WAIT ? status::error("the plugin waits where only permit may") : to_status(said);
}

gangsched_queued as_handed(const queued& from) noexcept {
  return {c::handed(from.pod), c::handed(from.group), from.priority,
          from.since.count(),  from.entered.count(),  from.arrival};
}

/// Callbacks as the hooks of a plugin. Of filter and score the engine calls the functions below, which make batches of nodes.
class callbacks {
 public:
  static constexpr std::string_view name = "Callbacks";
  using points = implements<point::queue_sort, point::queue_order, point::pre_enqueue, point::filter, point::score,
                            point::reserve, point::permit>;

  explicit callbacks(std::shared_ptr<instance> of) : of_(std::move(of)) {}

  /// Calls call(pod, node) about a reservation.
  template <class Call>
  auto on_node(const reservation& r, Call&& call) const {
    const gangsched_pod_view pod{&r.pod, &r.pod};
    const gangsched_node_id id = c::handed(r.node.id());
    const std::uint64_t cookie = r.node.cookie();
    return call(pod, gangsched_nodes_view{nullptr, nullptr, &r.node, &id, &cookie, reads::everything, &columns_});
  }

  void attach(column_maker& maker) {
    columns_.clear();
    for (const std::string& one : of_->table->columns) columns_.push_back(maker.node_column_by_host(one));
  }

  [[nodiscard]] bool less(const queued& a, const queued& b) const noexcept {
    const gangsched_queued first = as_handed(a), second = as_handed(b);
    return hooks().less(of_->data, &first, &second);
  }
  [[nodiscard]] std::int64_t queue_of(const pod_info& pod) const {
    const gangsched_pod_view view{&pod, &pod};
    std::int64_t queue = 0;
    heed(hooks().queue_of(of_->data, &view, &queue));
    return queue;
  }
  [[nodiscard]] bool queue_before(const queue_head& a, const queue_head& b, const cluster_view&) const {
    const gangsched_queue_head first{a.queue, as_handed(a), a.now.count()};
    const gangsched_queue_head second{b.queue, as_handed(b), b.now.count()};
    bool before = false;
    heed(hooks().queue_before(of_->data, &first, &second, &before));
    return before;
  }
  [[nodiscard]] status pre_enqueue(const pod_info& pod) const {
    const gangsched_pod_view view{&pod, &pod};
    return to_verdict(hooks().pre_enqueue(of_->data, &view));
  }
  [[nodiscard]] status filter(const pod_info&, const node_info&) const { return {}; }      // filter_rows
  [[nodiscard]] std::int64_t score(const pod_info&, const node_info&) const { return 0; }  // score_rows
  [[nodiscard]] status reserve(const new_reservation& r) {
    return on_node(r, [&](const gangsched_pod_view& pod, const gangsched_nodes_view& node) {
      return to_verdict(hooks().reserve(of_->data, &pod, &node));
    });
  }
  void unreserve(const reservation& r) noexcept {
    on_node(r, [&](const gangsched_pod_view& pod, const gangsched_nodes_view& node) {
      hooks().unreserve(of_->data, &pod, &node);
    });
  }
  [[nodiscard]] permit_verdict permit(const reservation& r, permit_room& room) {
    return on_node(r, [&](const gangsched_pod_view& pod, const gangsched_nodes_view& node) {
      permit_verdict made;
      std::int64_t timeout = made.timeout.count();
      gangsched_permit_room handed_room{&room, {}};
      made.verdict = to_status(hooks().permit(of_->data, &pod, &node, r.now.count(), &timeout, &handed_room));
      made.timeout = instant{timeout};
      return made;
    });
  }

  /// Calls take(node, verdict) for each of the rows, in their order.
  template <class Take>
  void judge(const hook_context& context, std::span<const row_t> rows, Take&& take) const {
    std::array<gangsched_verdict, batch> said;
    in_batches(context, rows, [&](const gangsched_pod_view& pod, const gangsched_nodes_view& nodes, std::size_t count) {
      std::fill_n(said.begin(), count, gangsched_verdict{});
      hooks().filter(of_->data, &pod, &nodes, count, said.data());
      for (std::size_t i = 0; i < count; ++i) take(nodes.rows[i], to_verdict(said[i]));
    });
  }
  /// Calls take(node, score).
  template <class Take>
  void rate(const hook_context& context, std::span<const row_t> rows, Take&& take) const {
    std::array<std::int64_t, batch> said;
    in_batches(context, rows, [&](const gangsched_pod_view& pod, const gangsched_nodes_view& nodes, std::size_t count) {
      std::fill_n(said.begin(), count, 0);
      hooks().score(of_->data, &pod, &nodes, count, said.data());
      for (std::size_t i = 0; i < count; ++i) take(nodes.rows[i], said[i]);
    });
  }

 private:
  [[nodiscard]] const gangsched_plugin& hooks() const noexcept { return of_->table->hooks; }

  /// What a callback says that has no status to return.
  void heed(const gangsched_verdict& said) const {
    if (said.code == GANGSCHED_SUCCESS) return;
    throw hook_error{of_->table->name, said.reason == nullptr ? "the plugin failed" : said.reason};
  }
  template <class Call>
  void in_batches(const hook_context& context, std::span<const row_t> rows, Call&& call) const {
    const pod_view alike{*context.state, *context.cls};
    const bool personal = of_->table->read == reads::everything && context.pod != no_row;
    std::optional<pod_info> own;
    if (personal) own.emplace(*context.state, context.pod);
    const gangsched_pod_view pod{&alike, personal ? &*own : nullptr};
    std::array<gangsched_node_id, batch> ids;
    std::array<std::uint64_t, batch> cookies;
    for (std::size_t first = 0; first < rows.size(); first += batch) {
      const std::span part = rows.subspan(first, std::min(batch, rows.size() - first));
      for (std::size_t i = 0; i < part.size(); ++i) {
        const node_view<reads::name> node{*context.state, part[i]};
        ids[i] = c::handed(node.id());
        cookies[i] = node.cookie();
      }
      const gangsched_nodes_view nodes{context.state,  part.data(),      nullptr,  ids.data(),
                                       cookies.data(), of_->table->read, &columns_};
      call(pod, nodes, part.size());
    }
  }
  std::shared_ptr<instance> of_;
  std::vector<by_host<node_column>> columns_;
};

const callbacks& at(const void* self) noexcept { return *static_cast<const callbacks*>(self); }

// --- the kernels of filter and score

bool filter_rows(const void* self, const hook_context& context, std::span<const row_t> rows, std::uint8_t* verdicts,
                 std::uint8_t mark) {
  bool fine = true;
  const auto take = [&](row_t row, const status& said) {
    if (said.ok()) return;
    verdicts[row] = mark;
    fine = fine && said.rejected();
  };
  // Runs of nodes that no hook has rejected yet.
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t end = i;
    while (end < rows.size() && verdicts[rows[end]] == 0) ++end;
    if (end != i) at(self).judge(context, rows.subspan(i, end - i), take);
    i = end + 1;
  }
  return fine;
}
status filter_one(const void* self, const hook_context& context, row_t row) {
  status said;
  at(self).judge(context, {&row, 1}, [&](row_t, const status& verdict) { said = verdict; });
  return said;
}
void filter_reasons(const void* self, const hook_context& context, row_t row, std::vector<status>& out) {
  out.push_back(filter_one(self, context, row));
}
std::int64_t row_as_key(const void*, const hook_context&, row_t row) { return row; }
void filter_groups(const void* self, const hook_context& context, std::span<filtered_group> groups) {
  std::vector<row_t> rows;
  rows.reserve(groups.size());
  for (const filtered_group& one : groups) rows.push_back(static_cast<row_t>(one.key));
  std::size_t next = 0;
  at(self).judge(context, rows, [&](row_t, const status& verdict) { groups[next++].verdict = verdict; });
}

bool score_rows(const void* self, const hook_context& context, std::span<const row_t> rows, std::int64_t weight,
                std::int64_t* totals) {
  bool fine = true;
  at(self).rate(context, rows, [&](row_t row, std::int64_t score) {
    fine = fine && score >= 0 && score <= max_node_score;
    if (fine) totals[row] += weight * score;
  });
  return fine;
}
std::int64_t score_one(const void* self, const hook_context& context, row_t row) {
  std::int64_t score = 0;
  at(self).rate(context, {&row, 1}, [&](row_t, std::int64_t said) { score = said; });
  return score;
}

reads to_reads(std::uint32_t said) noexcept {
  if (said == GANGSCHED_READS_EVERYTHING) return reads::everything;
  reads made = reads::name;
  if ((said & GANGSCHED_READS_LABELS) != 0) made |= reads::labels;
  if ((said & GANGSCHED_READS_ALLOCATABLE) != 0) made |= reads::allocatable;
  if ((said & GANGSCHED_READS_USAGE) != 0) made |= reads::usage;
  if ((said & GANGSCHED_READS_SCHEDULABLE) != 0) made |= reads::schedulable;
  if ((said & GANGSCHED_READS_COLUMNS) != 0) made |= reads::own;
  return made;
}

}  // namespace

callback_table::callback_table(const gangsched_plugin& from)
    : hooks(from), name(text(from.name)), read(to_reads(from.reads)) {
  for (std::size_t i = 0; i < from.columns.count && from.columns.items != nullptr; ++i)
    columns.emplace_back(text(from.columns.items[i]));
  hooks.name = nullptr;
  hooks.columns = {};
}
callback_table::~callback_table() {
  if (accepted && hooks.destroy != nullptr) hooks.destroy(hooks.user_data);
}

std::optional<error> check(const callback_table& table) {
  const auto wrong = [&](const char* field, const char* why) {
    return error{errc::malformed, "plugin " + table.name, field, why};
  };
  const gangsched_plugin& hooks = table.hooks;
  constexpr std::uint32_t known = GANGSCHED_READS_NAME | GANGSCHED_READS_LABELS | GANGSCHED_READS_ALLOCATABLE |
                                  GANGSCHED_READS_USAGE | GANGSCHED_READS_SCHEDULABLE | GANGSCHED_READS_COLUMNS;
  if (table.name.empty()) return wrong("name", "is empty");
  if ((hooks.reads & ~known) != 0) return wrong("reads", "has bits that mean nothing");
  if (hooks.weight < 0) return wrong("weight", "is negative");
  for (const std::string& one : table.columns)
    if (one.empty()) return wrong("columns", "one has no name");
  if ((hooks.reserve == nullptr) != (hooks.unreserve == nullptr)) return wrong("reserve", "goes with unreserve");
  if ((hooks.queue_of == nullptr) != (hooks.queue_before == nullptr))
    return wrong("queue_of", "goes with queue_before");
  const bool any = hooks.less != nullptr || hooks.queue_of != nullptr || hooks.pre_enqueue != nullptr ||
                   hooks.filter != nullptr || hooks.score != nullptr || hooks.reserve != nullptr ||
                   hooks.permit != nullptr;
  if (!any) return wrong("", "has no callback of a point");
  return std::nullopt;
}

result<plugin_entry> make_plugin(const std::shared_ptr<const callback_table>& table, const argument& arguments) {
  const gangsched_plugin& hooks = table->hooks;
  const auto made_for = std::make_shared<instance>(table);
  made_for->data = hooks.user_data;
  if (hooks.create != nullptr) {
    const char* why = nullptr;
    const std::string given = arguments.empty() ? std::string{} : to_json(arguments);
    if (hooks.create(hooks.user_data, given.c_str(), &made_for->data, &why) != GANGSCHED_OK)
      return error{errc::malformed, "plugin " + table->name, "args",
                   why == nullptr ? "are refused by the plugin" : why};
    made_for->made = true;
  } else if (!arguments.empty()) {
    return error{errc::malformed, "plugin " + table->name, "args", "takes no arguments"};
  }

  plugin_entry entry = lower(callbacks{made_for}, hooks.weight == 0 ? 1 : hooks.weight);
  if (hooks.less == nullptr) entry.points.remove(point::queue_sort), entry.sort_less = nullptr;
  if (hooks.queue_of == nullptr)
    entry.points.remove(point::queue_order), entry.queue_of = nullptr, entry.queue_before = nullptr;
  if (hooks.pre_enqueue == nullptr) entry.points.remove(point::pre_enqueue), entry.pre_enqueue = nullptr;
  if (hooks.reserve == nullptr) entry.points.remove(point::reserve), entry.reserve = nullptr, entry.unreserve = nullptr;
  if (hooks.permit == nullptr) entry.points.remove(point::permit), entry.permit = nullptr;
  const bool remembered = table->read != reads::everything;
  entry.filter = {};
  if (hooks.filter == nullptr) {
    entry.points.remove(point::filter);
  } else if (remembered) {
    entry.filter = {.shape = shape::local,
                    .facets = table->read,
                    .rows = filter_rows,
                    .one = filter_one,
                    .reasons = filter_reasons};
  } else {  // judged for each pod, all nodes that are left at once
    entry.filter = {.shape = shape::keyed,
                    .facets = table->read,
                    .opaque = true,
                    .personal = true,
                    .key = row_as_key,
                    .finish = filter_groups};
  }
  entry.score = {};
  if (hooks.score == nullptr) {
    entry.points.remove(point::score);
  } else {
    entry.score = {.shape = remembered ? shape::local : shape::opaque,
                   .facets = table->read,
                   .opaque = !remembered,
                   .rows = score_rows,
                   .one = score_one};
  }
  return entry;
}

}  // namespace gangsched::inline GANGSCHED_ABI::c

using namespace gangsched;

gangsched_pod_id gangsched_pod_view_id(const gangsched_pod_view* pod) noexcept {
  return pod == nullptr || pod->own == nullptr ? gangsched_pod_id{} : c::handed(pod->own->id());
}
gangsched_text gangsched_pod_view_name(const gangsched_pod_view* pod) noexcept {
  return pod == nullptr || pod->own == nullptr ? gangsched_text{} : c::handed(pod->own->name());
}
uint64_t gangsched_pod_view_cookie(const gangsched_pod_view* pod) noexcept {
  return pod == nullptr || pod->own == nullptr ? 0 : pod->own->cookie();
}
gangsched_group_id gangsched_pod_view_group(const gangsched_pod_view* pod) noexcept {
  if (pod == nullptr || pod->own == nullptr) return {};
  const auto group = pod->own->group();
  return group ? c::handed(group->id()) : gangsched_group_id{};
}
gangsched_text gangsched_pod_view_label(const gangsched_pod_view* pod, const char* key) noexcept {
  if (pod == nullptr || pod->own == nullptr) return {};
  const label_map& all = pod->own->labels();
  const auto found = all.find(c::text(key));
  return found == all.end() ? gangsched_text{} : c::handed(std::string_view{found->second});
}
gangsched_text gangsched_pod_view_namespace(const gangsched_pod_view* pod) noexcept {
  return pod == nullptr ? gangsched_text{} : c::handed(pod->alike->ns());
}
int32_t gangsched_pod_view_priority(const gangsched_pod_view* pod) noexcept {
  return pod == nullptr ? 0 : pod->alike->priority();
}
int64_t gangsched_pod_view_request(const gangsched_pod_view* pod, const char* resource) noexcept {
  return pod == nullptr ? 0 : c::quietly(std::int64_t{0}, [&] { return pod->alike->request(c::text(resource)); });
}

namespace gangsched::inline GANGSCHED_ABI::c {
namespace {

/// What ask(node) says, if the plugin reads that much.
template <class Said, class Ask>
Said ask_node(const gangsched_nodes_view* nodes, std::size_t index, reads needed, Said otherwise, Ask&& ask) noexcept {
  if (nodes == nullptr || !covers(nodes->read, needed)) return otherwise;
  return quietly(otherwise, [&] {
    return ask(nodes->only != nullptr ? *nodes->only : node_info{*nodes->tables, nodes->rows[index]});
  });
}

}  // namespace
}  // namespace gangsched::inline GANGSCHED_ABI::c

const gangsched_node_id* gangsched_nodes_view_ids(const gangsched_nodes_view* nodes) noexcept {
  return nodes == nullptr ? nullptr : nodes->ids;
}
const uint64_t* gangsched_nodes_view_cookies(const gangsched_nodes_view* nodes) noexcept {
  return nodes == nullptr ? nullptr : nodes->cookies;
}
gangsched_text gangsched_nodes_view_name(const gangsched_nodes_view* nodes, size_t index) noexcept {
  return c::ask_node(nodes, index, reads::name, gangsched_text{},
                     [](const node_info& node) { return c::handed(node.name()); });
}
gangsched_text gangsched_nodes_view_label(const gangsched_nodes_view* nodes, size_t index, const char* key) noexcept {
  return c::ask_node(nodes, index, reads::labels, gangsched_text{}, [&](const node_info& node) {
    const auto found = node.label(c::text(key));
    return found ? c::handed(*found) : gangsched_text{};
  });
}
bool gangsched_nodes_view_unschedulable(const gangsched_nodes_view* nodes, size_t index) noexcept {
  return c::ask_node(nodes, index, reads::schedulable, false,
                     [](const node_info& node) { return node.unschedulable(); });
}
int64_t gangsched_nodes_view_allocatable(const gangsched_nodes_view* nodes, size_t index,
                                         const char* resource) noexcept {
  return c::ask_node(nodes, index, reads::allocatable, std::int64_t{0},
                     [&](const node_info& node) { return node.allocatable(c::text(resource)); });
}
int64_t gangsched_nodes_view_used(const gangsched_nodes_view* nodes, size_t index, const char* resource) noexcept {
  return c::ask_node(nodes, index, reads::usage, std::int64_t{0},
                     [&](const node_info& node) { return node.used(c::text(resource)); });
}
int64_t gangsched_nodes_view_free(const gangsched_nodes_view* nodes, size_t index, const char* resource) noexcept {
  return c::ask_node(nodes, index, reads::usage | reads::allocatable, std::int64_t{0},
                     [&](const node_info& node) { return node.free(c::text(resource)); });
}
int64_t gangsched_nodes_view_column(const gangsched_nodes_view* nodes, size_t index, size_t column) noexcept {
  if (nodes == nullptr || column >= nodes->columns->size()) return 0;
  return c::ask_node(nodes, index, reads::own, std::int64_t{0},
                     [&](const node_info& node) { return node.own((*nodes->columns)[column]); });
}

size_t gangsched_permit_room_waiting(gangsched_permit_room* room, const gangsched_pod_id** pods) noexcept {
  if (pods != nullptr) *pods = nullptr;
  if (room == nullptr) return 0;
  return c::quietly(std::size_t{0}, [&] {
    room->waiting.clear();
    for (const pod_id one : room->room->waiting()) room->waiting.push_back(c::handed(one));
    if (pods != nullptr) *pods = room->waiting.data();
    return room->waiting.size();
  });
}
void gangsched_permit_room_allow(gangsched_permit_room* room, gangsched_pod_id pod) noexcept {
  if (room == nullptr) return;
  c::quietly(false, [&] { return room->room->allow(c::of(pod)), true; });
}

gangsched_code gangsched_registry_create(gangsched_registry** made, gangsched_error* error) noexcept {
  if (made == nullptr) return c::missing(error, "made");
  return c::guarded(error, [&] {
    *made = new gangsched_registry{builtin_plugins()};
    return c::ok;
  });
}
void gangsched_registry_destroy(gangsched_registry* on) noexcept { delete on; }
gangsched_code gangsched_registry_add(gangsched_registry* on, const gangsched_plugin* plugin,
                                      gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "registry");
  if (plugin == nullptr) return c::missing(error, "plugin");
  return c::guarded(error, [&] {
    const auto read = c::sized(plugin);
    if (!read) return c::wrong_size(error, "plugin");
    const auto table = std::make_shared<c::callback_table>(*read);
    if (const auto wrong = c::check(*table)) return c::refuse(error, *wrong);
    const auto done = on->plugins.add(table->name, [shared = std::shared_ptr<const c::callback_table>{table}](
                                                       const argument& args) { return c::make_plugin(shared, args); });
    if (done) table->accepted = true;
    return c::answer(error, done);
  });
}
