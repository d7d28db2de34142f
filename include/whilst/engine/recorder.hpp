#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "whilst/basics/restored.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/engine/memory/arena.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/engine/memory/pointer_check.hpp"
#include "whilst/engine/program.hpp"
#include "whilst/engine/steps/protocols.hpp"
#include "whilst/engine/steps/step.hpp"

namespace whilst {

/// The runner on the host: it runs nothing but appends named steps to a program, a tree of steps, calls, loops and
/// branches. Bodies receive it; a program begins with a program_recorder, below, which also allocates memory and
/// declares parameters: a body can do neither. A method uses it like any runner:
///
///     run.step(name, n, map)            map(i) for every index i < n
///     run.step(name, n, map, finish)    the same; then, once, on one thread, finish(totals), or finish(totals, loop)
///                                       with the state of the step's loop. If there are totals, the finish must not
///                                       read what the map wrote to memory; the next step may
///     run.step(name, n, map, finish, sequel_name, sequel)
///                                       the same; then another step, sequel(i) for every index i < n. Of what the map
///                                       wrote, it reads only what map(i) wrote; of what the finish wrote, only the
///                                       struct that the `handed` of both points to; no other step may read that. The
///                                       finish takes the loop's state. On a small grid both share a kernel, which
///                                       saves a launch, or the sequel's kernel runs the finish; the next step must
///                                       not fetch ahead what any of them writes. A sequel that has a read(i) beside
///                                       (i, what was read, *handed) reads while the finish runs: see
///                                       include/whilst/engine/steps/phases.hpp
///                                       A finish that receives totals may ask for a whole warp, or for two that do
///                                       half of it each: see include/whilst/engine/steps/phases.hpp
///     run.team(name, n, map)            map(i, team): a whole block works on index i; a finish may follow as above.
///                                       The map declares whole_block = true, and may have fast_memory_bytes(), the
///                                       size of team.fast_memory(); that is null on the host and where the whole
///                                       method is in a kernel, whose vectors may fill it, so provide a fallback
///     run.once(name, finish)            finish() alone
///     run.loop(name, control, body)     body(run) until the control stops
///     run.loop(name, control, start, body)   start(run) once, after arming: a verdict there means no trip
///     run.branch(name, flag, body)      body(run) if *flag is not 0
///     run.branch(name, flag, body, otherwise)   otherwise(run) if it is 0
///     run.select(name, choice, body0, body1, ...)   body k if *choice is k; none if there is no such body
///     run.parallel(name, body0, body1, ...)   all of them, in any order or concurrently: none reads what another
///                                       writes. Maps, finishes and calls may declare what they write (`writes`, see
///                                       memory_range): two bodies that declare the same memory are refused. No finish
///                                       directly in a body takes the state of the enclosing loop or stops it: give
///                                       verdicts afterwards
///
/// and, for recorders only, run.call(name, function) for work that other code enqueues. Each loop has its own control.
/// Flags are read before the bodies run. Maps and finishes are copied; the memory they point to must live as long as
/// the program. A null name, control, flag, choice or function is refused, and so is a control, a flag or a choice in
/// memory that the place cannot use.
class recorder {
 public:
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  place where() const { return where_; }

  // Steps return a handle for program::update; most callers need none. What is no step has been refused by an
  // assertion: nothing else is compiled for it, so that the compiler reports nothing else.
  template <class Map, class Finish = no_finish, class Sequel = no_sequel>
  step_handle<Map, Finish, Sequel> step(const char* name, index_type n, const Map& map, const Finish& finish = {},
                                        const char* sequel_name = nullptr, const Sequel& sequel = {}) {
    step_handle<Map, Finish, Sequel> made;
    if constexpr (detail::are_step<Map, Finish>() &&
                  detail::is_sequel_of<Sequel, Map, Finish, map_step<Map, Finish>>()) {
      program_node node = begun(program_node::kind::step, name);
      refuse_null(node, map);
      refuse_null(node, finish);
      if constexpr (map_step<Map, Finish>::takes_loop) require_loop(name);
      auto recorded = std::make_unique<map_step<Map, Finish, Sequel>>(name, n, map, finish, sequel);
      made = {recorded.get(), nullptr, values_.owner()};
      node.step = std::move(recorded);
      add_writes(node, map);
      add_writes(node, finish);
      current_->push_back(std::move(node));
      if constexpr (!std::is_same_v<Sequel, no_sequel>) made.sequel = step(sequel_name, n, sequel).step;
    }
    return made;
  }
  template <class Map>
  step_handle<Map, no_finish> team(const char* name, index_type n, const Map& map) {
    return team(name, n, map, no_finish{});
  }
  template <class Map, class Finish>
  step_handle<Map, Finish> team(const char* name, index_type n, const Map& map, const Finish& finish) {
    static_assert(detail::works_by_block<Map>,
                  "a map for whole blocks says so: static constexpr bool whole_block = true");
    return step(name, n, map, finish);
  }
  template <class Finish>
  step_handle<detail::no_map, Finish> once(const char* name, const Finish& finish) {
    return step(name, 0, detail::no_map{}, finish);
  }

  template <class Body>
  void loop(const char* name, control* c, const Body& body) {
    loop(
        name, c, [](recorder&) {}, body);
  }
  template <class Start, class Body>
  void loop(const char* name, control* c, const Start& start, const Body& body) {
    program_node node = begun(program_node::kind::loop, name);
    require_usable("recording " + node.title(), where_, {{"the control", c}});
    node.loop = c;
    const detail::restored<bool> outer_in_loop(in_loop_, true);
    const detail::restored<const char*> outer_parallel(parallel_, nullptr);
    record_into(node, node.start, start);
    record_into(node, node.body, [&](recorder& run) {
      body(run);
      // Iterations must be counted: a body without a finish gets one.
      if (!has_finish(node.body)) once("count the iteration", count_iteration{});
    });
    current_->push_back(std::move(node));
  }

  template <class Body>
  void branch(const char* name, const int* flag, const Body& body) {
    program_node node = begun(program_node::kind::branch, name);
    require_usable("recording " + node.title(), where_, {{"the flag", flag}});
    node.flag = flag;
    record_into(node, node.body, body);
    current_->push_back(std::move(node));
  }

  template <class Body, class Otherwise>
  void branch(const char* name, const int* flag, const Body& body, const Otherwise& otherwise) {
    add_select(name, flag, /*has_else=*/true, body, otherwise);
  }

  template <class... Bodies>
  void select(const char* name, const int* choice, const Bodies&... bodies) {
    static_assert(sizeof...(Bodies) > 0 && sizeof...(Bodies) <= most_choices, "a select has 1 to 32 bodies");
    add_select(name, choice, /*has_else=*/false, bodies...);
  }

  template <class... Bodies>
  void parallel(const char* name, const Bodies&... bodies) {
    static_assert(sizeof...(Bodies) > 0, "bodies side by side are one at least");
    program_node node = begun(program_node::kind::parallel, name);
    node.bodies.resize(sizeof...(Bodies));
    {
      const detail::restored<const char*> outer(parallel_, name);
      std::size_t k = 0;
      (record_into(node, node.bodies[k++], bodies), ...);
    }
    refuse_shared_writes(node);
    current_->push_back(std::move(node));
  }

  void call(const char* name, call_function function, call_options options = {}) {
    program_node node = begun(program_node::kind::call, name);
    if (!function) throw error("recording " + node.title(), "the function is empty", "Give what enqueues the work");
    if (options.needs_stream && where_.on_host())
      throw error("recording call '" + node.name + "'", "it needs a stream, and the host has none",
                  "Record it on place::gpu(device), or leave it out of what is recorded for the host");
    node.call = std::move(function);
    node.writes = options.writes;
    node.options = options;
    current_->push_back(std::move(node));
  }

  // A body cannot allocate memory or declare parameters: use the program_recorder beforehand.
  void arena(...) = delete;
  void parameter(...) = delete;
  void slot(...) = delete;
  void uses(...) = delete;

 protected:
  explicit recorder(place where) : where_(where), values_(where) {}
  ~recorder() = default;
  place where_;
  std::vector<program_node> nodes_;
  launch_values values_;

 private:
  /// For a finish that takes the state of the loop around it.
  void require_loop(const char* step) const {
    const std::string doing = "recording step '" + std::string(step) + "'";
    if (!in_loop_)
      throw error(doing, "its finish takes the state of a loop, and it is in none", "Record it within run.loop");
    if (parallel_)
      throw error(doing,
                  "its finish takes the state of the loop around parallel '" + std::string(parallel_) +
                      "', and so may the steps beside it",
                  "Record it after the parallel bodies, or give the body a loop of its own");
  }
  static program_node begun(program_node::kind what, const char* name) {
    require_name("a node of a program", name);
    return {.what = what, .name = name};
  }
  /// For a map or a finish that is a function pointer.
  template <class Functor>
  static void refuse_null([[maybe_unused]] const program_node& node, [[maybe_unused]] const Functor& functor) {
    if constexpr (std::is_pointer_v<Functor>)
      if (!functor) throw error("recording " + node.title(), "a pointer to a function is null", "Give a function");
  }
  template <class Functor>
  static void add_writes(program_node& node, [[maybe_unused]] const Functor& functor) {
    if constexpr (requires { functor.writes(); })
      for (const memory_range& range : functor.writes()) node.writes.push_back(range);
  }
  template <class... Bodies>
  void add_select(const char* name, const int* flag, bool has_else, const Bodies&... bodies) {
    program_node node = begun(program_node::kind::select, name);
    node.has_else = has_else;
    require_usable("recording " + node.title(), where_, {{has_else ? "the flag" : "the choice", flag}});
    node.flag = flag;
    node.bodies.resize(sizeof...(Bodies));
    std::size_t k = 0;
    (record_into(node, node.bodies[k++], bodies), ...);
    current_->push_back(std::move(node));
  }
  template <class Body>
  void record_into(const program_node& node, std::vector<program_node>& list, const Body& body) {
    const recorded_body named(node.title());
    const detail::restored<std::vector<program_node>*> outer(current_, &list);
    body(*this);
  }
  static bool has_finish(const std::vector<program_node>& list) {
    for (const program_node& node : list)
      if (node.step && node.step->has_finish()) return true;
    return false;
  }

  std::vector<program_node>* current_ = &nodes_;
  bool in_loop_ = false;
  const char* parallel_ = nullptr;  ///< the parallel node around the current step, unless a loop lies between
};

/// Records a program: a recorder that also allocates the program's memory, declares its parameters, and finally returns
/// the program. @code
///   whilst::program_recorder record(where);
///   const auto at = record.arena([&](whilst::arena_layout& memory) {
///     return pointers{memory.take<double>(n), memory.take<whilst::control>(1)};
///   });
///   record.loop("newton", at.loop, [&](whilst::recorder& run) { run.step(...); });
///   whilst::program program = std::move(record).finish();
/// @endcode
class program_recorder : public recorder {
 public:
  explicit program_recorder(place where) : recorder(where) {}

  /// Allocates the program's workspace on its place, one piece of zeroed memory that the program owns: calls `layout`
  /// twice with an arena_layout (first null pointers, to add up the bytes; then the pieces) and returns the second
  /// result. The program's memory() lists it by the layout's items. Throws whilst::error within a body and for a second
  /// arena.
  template <class Layout>
  auto arena(const Layout& layout) {
    recorded_body::refuse("taking a program's arena");
    if (has_arena_)
      throw error("taking a program's arena", "it has one already", "Lay out all of it together, in one call");
    arena_layout measuring;
    measuring.item("workspace");
    layout(measuring);
    auto memory = std::make_shared<const raw_buffer>(where_, static_cast<std::size_t>(measuring.used()));
    arena_layout placing(memory->data());
    const auto keep_it = [&] {
      if (placing.used() != measuring.used())
        throw error("taking a program's arena",
                    "its layout took " + std::to_string(measuring.used()) + " bytes when it was measured, and " +
                        std::to_string(placing.used()) + " when it was placed",
                    "Take the same pieces in both calls");
      memory_.push_back({itemised(measuring, where_), std::move(memory)});
      has_arena_ = true;
    };
    if constexpr (std::is_void_v<decltype(layout(placing))>) {
      layout(placing);
      keep_it();
    } else {
      auto placed = layout(placing);
      keep_it();
      return placed;
    }
  }

  /// Declares a value that each launch rewrites, in the program's memory on its place: maps and finishes read it
  /// through get(); program::set changes it for later launches, by this handle or by name. Throws whilst::error if the
  /// name is taken, and within a body. @code
  ///   const auto step_size = record.parameter<float>("step size", 0.1f);
  ///   record.step("x -= step size * g", n, descend{step_size.get(), g, x});
  ///   ...
  ///   program.set(step_size, 0.2f);    // or program.set("step size", 0.2f), with the type it was declared with
  ///   program.enqueue(stream);
  /// @endcode
  template <launch_value T>
  whilst::parameter<T> parameter(const char* name, const std::type_identity_t<T>& value) {
    require_name("a parameter", name);
    recorded_body::refuse("declaring parameter '" + std::string(name) + "'");
    return values_.add<T>(std::string(name), value);
  }
  /// The same at the caller's address, in memory of the program's place. Throws whilst::error if it is null or the
  /// place cannot use it.
  template <launch_value T>
  whilst::parameter<T> parameter(T* address, const std::type_identity_t<T>& value) {
    require_usable("declaring a parameter", where_, {{"its address", address}});
    return values_.add<T>(address, value);
  }

  /// Declares a pointer that program::bind binds at launch, so that new memory of the same shape needs no re-recording.
  /// Maps and finishes hold it as a slot<T>, to which the handle converts implicitly. Bind all slots before you
  /// enqueue.
  template <class T>
  declared_slot<T> slot(const char* name) {
    require_name("a slot", name);
    recorded_body::refuse("declaring slot '" + std::string(name) + "'");
    return values_.add_slot<T>(name);
  }

  /// Declares that the program works on a buffer. How you pass it decides its lifetime: the program owns a buffer moved
  /// in; a shared one lives at least as long as the program; any other is borrowed, and its owner must keep it until
  /// the program is gone. program::memory() lists it under the name, with its lifetime. Returns its address. Throws
  /// whilst::error for memory of another place.
  template <class T>
  T* uses(const char* name, buffer<T>&& moved) {
    check_place(name, moved.where());
    return keep(name, std::make_shared<const buffer<T>>(std::move(moved)), lifetime::owned);
  }
  template <class T>
  T* uses(const char* name, std::shared_ptr<const buffer<T>> shared) {
    return keep(name, std::move(shared), lifetime::shared);
  }
  template <class T>
  T* uses(const char* name, std::shared_ptr<buffer<T>> shared) {
    return keep(name, std::shared_ptr<const buffer<T>>(std::move(shared)), lifetime::shared);
  }
  template <class T>
  T* uses(const char* name, const buffer<T>& borrowed) {
    check_place(name, borrowed.where());
    uses(name, borrowed.data(), static_cast<std::size_t>(borrowed.bytes()));
    return borrowed.data();
  }
  template <class T>
  T* uses(const char* name, const buffer<T>&& gone_at_once) = delete;
  /// The same for borrowed memory outside any buffer. Pointer and bytes are listed as given; nothing is read.
  void uses(const char* name, const void* address, std::size_t bytes) {
    add(name, address, bytes, lifetime::borrowed, nullptr);
  }

  /// Returns the program recorded so far; the recorder is spent, and finishing it again throws whilst::error.
  program finish() && {
    if (std::exchange(is_spent_, true))
      throw error("finishing a program", "its recorder has given it already", "Record another with a new recorder");
    program made(where_, std::move(nodes_), std::move(values_));
    for (auto& [items, memory] : memory_) made.keep(std::move(items), std::move(memory));
    return made;
  }

 private:
  template <class T>
  T* keep(const char* name, std::shared_ptr<const buffer<T>> memory, lifetime how) {
    require_name("memory that a program uses", name);
    if (!memory) throw error("declaring memory '" + std::string(name) + "'", "the pointer is null", "Give a buffer");
    check_place(name, memory->where());
    T* const address = memory->data();
    const auto bytes = static_cast<std::size_t>(memory->bytes());
    add(name, address, bytes, how, std::move(memory));
    return address;
  }
  void check_place(const char* name, place of) const {
    require_name("memory that a program uses", name);
    if (of == where_) return;
    throw error("declaring memory '" + std::string(name) + "'",
                "it is on " + name_of(of) + ", and the program on " + name_of(where_), "Make the buffer there");
  }
  void add(const char* name, const void* address, std::size_t bytes, lifetime how, std::shared_ptr<const void> memory) {
    require_name("memory that a program uses", name);
    const memory_item item{.name = name, .where = name_of(where_), .bytes = bytes, .address = address, .kept = how};
    memory_.push_back({{item}, std::move(memory)});
  }

  bool has_arena_ = false, is_spent_ = false;
  std::vector<std::pair<std::vector<memory_item>, std::shared_ptr<const void>>> memory_;
};

}  // namespace whilst
