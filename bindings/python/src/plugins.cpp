#include "plugins.hpp"

#include <nanobind/ndarray.h>
#include <gangsched/framework/lower.hpp>

#include <array>
#include <set>

#include "fields.hpp"
#include "views.hpp"

namespace bindings {

using namespace gangsched;

first_raised::~first_raised() {
  const nb::gil_scoped_acquire held;
  what.reset();
}

nb::object take_raised(const std::vector<std::shared_ptr<plugin_state>>& of) {
  nb::object found;
  for (const auto& one : of) {
    if (!found.is_valid()) found = std::move(one->raised->what);
    one->raised->what.reset();
  }
  return found;
}

namespace {
thread_local copies_of_plugins* gathers = nullptr;
}  // namespace

copies_of_plugins::copies_of_plugins() : before_(std::exchange(gathers, this)) {}
copies_of_plugins::~copies_of_plugins() { gathers = before_; }
void copies_of_plugins::add(const std::shared_ptr<plugin_state>& made) {
  if (gathers != nullptr) gathers->made_.push_back(made);
}

namespace {

constexpr std::size_t most_reasons = 4096;

/// The text for as long as the process lives, which is what a status asks for. There is a bound, so that reasons with numbers in them do
/// not fill the memory.
const char* kept_text(const std::string& text) {
  static auto& all = *new std::set<std::string>;
  if (all.size() >= most_reasons && all.find(text) == all.end()) return "a further reason of a plugin in Python";
  return all.insert(text).first->c_str();
}

std::string text_of(nb::handle value) { return nb::cast<std::string>(nb::str(value)); }

/// The name of its class, which may have code of its own, too.
std::string kind_of(const nb::python_error& thrown) {
  try {
    return text_of(thrown.type().attr("__name__"));
  } catch (const nb::python_error&) {
  } catch (const nb::cast_error&) {
  }
  return "what has no name";
}

/// Asks a hook, with the GIL. What it raises is kept for who called, and ends the attempt.
template <class Hook>
auto ask(plugin_state& of, const Hook& hook) {
  const nb::gil_scoped_acquire held;
  try {
    return hook();
  } catch (nb::python_error& thrown) {
    if (!of.raised->what.is_valid()) of.raised->what = nb::borrow(thrown.value());
    throw hook_error{of.name, kind_of(thrown)};
  } catch (const nb::cast_error&) {
    throw hook_error{of.name, "a hook returned what is not of the type that was expected"};
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& thrown) {
    throw hook_error{of.name, thrown.what()};
  }
}

/// The same of a hook that can say that it failed.
template <class Hook>
auto ask_for_status(plugin_state& of, const Hook& hook) -> decltype(hook()) {
  try {
    return ask(of, hook);
  } catch (const hook_error& thrown) {
    const nb::gil_scoped_acquire held;
    return {status::error(kept_text(thrown.what()))};
  }
}

std::int64_t whole_number(const plugin_state& of, const char* hook, nb::handle said) {
  if (!PyIndex_Check(said.ptr())) {
    raise({errc::contract, "plugin " + of.name, hook,
           "returned " + text_of(nb::repr(said)) + ", which is no whole number"});
  }
  const nb::object index = not_raised(PyNumber_Index(said.ptr()));
  std::int64_t made = 0;
  if (!nb::try_cast(index, made))
    raise({errc::contract, "plugin " + of.name, hook, "returned what does not fit into 64 bits"});
  return made;
}

struct head_seen {
  nb::object queue;
  pod_id pod;
  std::optional<group_id> group;
  std::int32_t priority;
  double since, entered, now;
  std::uint64_t arrival;
};

/// The hooks that a Python object may have, as those of one plugin. `to_entry` takes the points away that it has no hooks for.
struct python_plugin {
  static constexpr std::string_view name = "PythonPlugin";
  using points = implements<point::filter, point::score, point::permit, point::queue_order>;

  std::shared_ptr<plugin_state> state;

  void attach(column_maker& columns) {
    state->attached_columns.clear();
    for (const std::string& one : state->columns) state->attached_columns.push_back(columns.node_column_by_host(one));
  }

  // Filter and score have kernels of their own, below: what they read is only known when the plugin is made.
  [[nodiscard]] status filter(const pod_info&, node_info) const { return {}; }
  [[nodiscard]] std::int64_t score(const pod_info&, node_info) const { return 0; }

  permit_verdict permit(const reservation& made, permit_room& room) {
    return ask_for_status(*state, [&]() -> permit_verdict {
      const lent<pod_seen> pod{made.pod};
      const lent<room_seen> waiting{&room, made.now};
      const nb::object said = state->self.attr("permit")(pod.object(), std::string{made.node.name()}, waiting.object());
      const std::string word = said.is_none() ? "allow" : text_of(nb::getattr(said, "kind"));
      if (word == "allow") return {};
      if (word == "wait") return {status::wait(), to_instant(said.attr("seconds"))};
      if (word == "deny") return {status::unschedulable(kept_text(text_of(said.attr("reason"))))};
      raise({errc::contract, "plugin " + state->name, "permit", "returned neither ALLOW, wait(…) nor deny(…)"});
    });
  }

  [[nodiscard]] std::int64_t queue_of(const pod_info& pod) const {
    return ask(*state, [&] {
      const lent<pod_seen> seen{pod};
      const nb::object said = state->self.attr("queue_of")(seen.object());
      if (!nb::isinstance<nb::str>(said)) return whole_number(*state, "queue_of", said);
      const auto [at, fresh] =
          state->queue_numbers.try_emplace(text_of(said), static_cast<std::int64_t>(state->queue_names.size()));
      if (fresh) state->queue_names.push_back(at->first);
      return at->second;
    });
  }
  [[nodiscard]] bool queue_before(const queue_head& a, const queue_head& b, const cluster_view&) const {
    return ask(*state, [&] { return nb::cast<bool>(nb::bool_(state->self.attr("queue_before")(seen(a), seen(b)))); });
  }

 private:
  [[nodiscard]] head_seen seen(const queue_head& head) const {
    const auto number = static_cast<std::size_t>(head.queue);
    const bool named = !state->queue_names.empty() && number < state->queue_names.size();
    return {named ? nb::object(nb::str(state->queue_names[number].c_str())) : nb::object(nb::int_(head.queue)),
            head.pod,
            head.group ? std::optional{head.group} : std::nullopt,
            head.priority,
            to_seconds(head.since),
            to_seconds(head.entered),
            to_seconds(head.now),
            head.arrival};
  }
};
static_assert(filter_plugin<python_plugin> && score_plugin<python_plugin> && permit_plugin<python_plugin> &&
              queue_order_plugin<python_plugin>);

plugin_state& state_of(const void* self) { return *static_cast<const python_plugin*>(self)->state; }

status ask_filter(plugin_state& of, nb::handle pod, const hook_context& c, row_t row) {
  const lent<node_seen> node{c, std::span{&row, 1}, of};
  const nb::object said = of.self.attr("filter")(pod, node.object());
  if (said.is_none()) return {};
  if (!nb::isinstance<nb::str>(said))
    raise({errc::contract, "plugin " + of.name, "filter",
           "returned " + text_of(nb::repr(said)) + ", neither None nor a reason"});
  return status::unschedulable(kept_text(text_of(said)));
}

status filter_one(const void* self, const hook_context& c, row_t row) {
  plugin_state& of = state_of(self);
  return ask_for_status(of, [&]() -> status {
    const lent<pod_seen> pod{c};
    return ask_filter(of, pod.object(), c, row);
  });
}

bool filter_rows(const void* self, const hook_context& c, std::span<const row_t> rows, std::uint8_t* verdicts,
                 std::uint8_t mark) {
  plugin_state& of = state_of(self);
  const nb::gil_scoped_acquire held;
  const lent<pod_seen> pod{c};
  bool fine = true;
  for (const row_t row : rows) {
    if (verdicts[row] != 0) continue;
    const status said = ask_for_status(of, [&]() -> status { return ask_filter(of, pod.object(), c, row); });
    if (said.ok()) continue;
    verdicts[row] = mark;
    fine &= said.rejected();
  }
  return fine;
}

void filter_reasons(const void* self, const hook_context& c, row_t row, std::vector<status>& out) {
  out.push_back(filter_one(self, c, row));
}

bool add_score(std::int64_t score, std::int64_t weight, std::int64_t& to) {
  const bool fine = score >= 0 && score <= max_node_score;
  to += fine ? weight * score : 0;
  return fine;
}

bool score_rows(const void* self, const hook_context& c, std::span<const row_t> rows, std::int64_t weight,
                std::int64_t* totals) {
  plugin_state& of = state_of(self);
  return ask(of, [&] {
    bool fine = true;
    const lent<pod_seen> pod{c};
    for (const row_t row : rows) {
      const lent<node_seen> node{c, std::span{&row, 1}, of};
      const nb::object said = of.self.attr("score")(pod.object(), node.object());
      fine &= add_score(whole_number(of, "score", said), weight, totals[row]);
    }
    return fine;
  });
}

bool score_all_rows(const void* self, const hook_context& c, std::span<const row_t> rows, std::int64_t weight,
                    std::int64_t* totals) {
  using numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  plugin_state& of = state_of(self);
  return ask(of, [&] {
    const lent<pod_seen> pod{c};
    const lent<nodes_seen> nodes{c, rows, of};
    nb::object said = of.self.attr("score_nodes")(pod.object(), nodes.object());
    const std::string kind = nb::hasattr(said, "dtype") ? text_of(said.attr("dtype").attr("kind")) : "";
    numbers scores;
    if ((kind == "i" || kind == "u" || kind == "b") && !nb::try_cast(said, scores))
      static_cast<void>(nb::try_cast(said.attr("astype")("int64"), scores));
    if (!scores.is_valid() || scores.shape(0) != rows.size()) {
      raise({errc::contract, "plugin " + of.name, "score_nodes",
             "returned no array of " + std::to_string(rows.size()) + " whole numbers"});
    }
    bool fine = true;
    for (std::size_t i = 0; i < rows.size(); ++i) fine &= add_score(scores(i), weight, totals[rows[i]]);
    return fine;
  });
}

template <auto Rows>
std::int64_t score_one(const void* self, const hook_context& c, row_t row) {
  std::vector<std::int64_t> totals(row + std::size_t{1});
  return Rows(self, c, std::span{&row, 1}, 1, totals.data()) ? totals[row] : max_node_score + 1;
}

reads facet_called(const plugin_state& of, const std::string& word) {
  static constexpr std::array<std::pair<std::string_view, reads>, 8> words{{{"name", reads::name},
                                                                            {"labels", reads::labels},
                                                                            {"schedulable", reads::schedulable},
                                                                            {"allocatable", reads::allocatable},
                                                                            {"usage", reads::usage},
                                                                            {"devices", reads::devices},
                                                                            {"columns", reads::own},
                                                                            {"nothing", reads::nothing}}};
  std::string all;
  for (const auto& [known, facet] : words) {
    if (word == known) return facet;
    all += (all.empty() ? "" : ", ") + std::string{known};
  }
  raise({errc::malformed, "plugin " + of.name, "reads", "\"" + word + "\" is none of " + all});
}

nb::object attribute(nb::handle of, const char* name) { return nb::getattr(of, name, nb::none()); }

std::vector<std::string> texts_in(nb::handle attribute, const plugin_state& of, const char* name) {
  std::vector<std::string> made;
  if (!nb::try_cast(attribute, made))
    raise({errc::malformed, "plugin " + of.name, name, "are no texts: " + text_of(nb::repr(attribute))});
  return made;
}

/// The same plugin. The numbers of its columns are its cluster's, those of queues a fork goes on with.
std::shared_ptr<void> copy_plugin(const void* self) {
  const plugin_state& of = state_of(self);
  const auto made = std::make_shared<plugin_state>();
  made->self = of.self;
  made->name = of.name;
  made->may_read = of.may_read;
  made->columns = of.columns;
  made->queue_numbers = of.queue_numbers;
  made->queue_names = of.queue_names;
  made->raised = of.raised;
  copies_of_plugins::add(made);
  return std::make_shared<python_plugin>(python_plugin{made});
}

}  // namespace

plugin_entry to_entry(nb::handle plugin, std::int64_t weight) {
  const auto state = std::make_shared<plugin_state>();
  state->self = plugin;
  const nb::object name = attribute(plugin, "name");
  state->name = text_of(name.is_none() ? nb::object(plugin.type().attr("__name__")) : name, "plugin", "name");
  if (const nb::object columns = attribute(plugin, "columns"); !columns.is_none())
    state->columns = texts_in(columns, *state, "columns");
  const nb::object facets = attribute(plugin, "reads");
  if (!facets.is_none()) {
    state->may_read = reads::nothing;
    for (const std::string& word : texts_in(facets, *state, "reads")) state->may_read |= facet_called(*state, word);
  }

  const auto has = [&](const char* hook) { return nb::hasattr(plugin, hook); };
  plugin_entry made = lower(python_plugin{state}, weight);
  made.name = state->name;
  made.copy = copy_plugin;
  if (!has("filter")) made.points.remove(point::filter);
  if (!has("score") && !has("score_nodes")) made.points.remove(point::score);
  if (!has("permit")) made.points.remove(point::permit);
  if (has("queue_of") != has("queue_before"))
    raise({errc::malformed, "plugin " + state->name, "queue_of", "and queue_before go together"});
  if (!has("queue_of")) made.points.remove(point::queue_order);
  if (made.points.bits == 0)
    raise({errc::malformed, "plugin " + state->name, "",
           "has none of the hooks filter, score, score_nodes, permit, queue_of"});

  const bool kept = !facets.is_none();  // its answers are
  made.filter.facets = made.score.facets = state->may_read;
  made.filter.opaque = made.score.opaque = !kept;
  made.filter.shape = made.score.shape = kept ? shape::local : shape::opaque;
  made.filter.rows = filter_rows;
  made.filter.one = filter_one;
  made.filter.reasons = filter_reasons;
  made.score.rows = has("score_nodes") ? score_all_rows : score_rows;
  made.score.one = has("score_nodes") ? score_one<score_all_rows> : score_one<score_rows>;
  return made;
}

std::vector<std::shared_ptr<plugin_state>> states_in(std::span<const plugin_entry> plugins) {
  std::vector<std::shared_ptr<plugin_state>> made;
  for (const plugin_entry& entry : plugins) {
    if (entry.copy == copy_plugin) made.push_back(static_cast<const python_plugin*>(entry.self.get())->state);
  }
  return made;
}

void add_plugins(nb::module_& to) {
  add_views(to);
  nb::class_<head_seen>(to, "QueueHead", "The first of a queue, where a plugin orders several")
      .def_prop_ro(
          "queue", [](const head_seen& of) { return of.queue; }, nb::sig("def queue(self) -> int | str"),
          "As queue_of said")
      .def_ro("pod", &head_seen::pod, "Of a group its first pending member")
      .def_ro("group", &head_seen::group)
      .def_ro("priority", &head_seen::priority)
      .def_ro("since", &head_seen::since, "When it entered the queue, or failed last")
      .def_ro("entered", &head_seen::entered)
      .def_ro("now", &head_seen::now)
      .def_ro("arrival", &head_seen::arrival, "Pods are numbered as they come");
}

}  // namespace bindings
