#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
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
      check_step(name, is_null(map) || is_null(finish), map_step<Map, Finish>::takes_loop);
      append_writes(map);
      append_writes(finish);
      // Not make_unique: pointers of another type for each step take long to compile.
      add_step(made.step = new map_step<Map, Finish, Sequel>(name, n, map, finish, sequel));
      made.owner = values_.owner();
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
    add_loop(name, c, {}, body_reference(body));
  }
  template <class Start, class Body>
  void loop(const char* name, control* c, const Start& start, const Body& body) {
    add_loop(name, c, body_reference(start), body_reference(body));
  }

  template <class Body>
  void branch(const char* name, const int* flag, const Body& body) {
    add_branch(name, flag, body_reference(body));
  }
  template <class Body, class Otherwise>
  void branch(const char* name, const int* flag, const Body& body, const Otherwise& otherwise) {
    add_select(name, flag, /*has_else=*/true, {body_reference(body), body_reference(otherwise)});
  }

  template <class... Bodies>
  void select(const char* name, const int* choice, const Bodies&... bodies) {
    static_assert(sizeof...(Bodies) > 0 && sizeof...(Bodies) <= most_choices, "a select has 1 to 32 bodies");
    add_select(name, choice, /*has_else=*/false, {body_reference(bodies)...});
  }

  template <class... Bodies>
  void parallel(const char* name, const Bodies&... bodies) {
    static_assert(sizeof...(Bodies) > 0, "bodies side by side are one at least");
    add_parallel(name, {body_reference(bodies)...});
  }

  void call(const char* name, call_function function, call_options options = {});

  // A body cannot allocate memory or declare parameters: use the program_recorder beforehand.
  void arena(...) = delete;
  void parameter(...) = delete;
  void slot(...) = delete;
  void uses(...) = delete;

 protected:
  explicit recorder(place where);
  ~recorder();
  place where_;
  std::vector<program_node> nodes_;
  launch_values values_;

 private:
  // What depends on no type is compiled once, in kernels/engine/recorder.cpp: a method has dozens of steps.

  /// A body of any type, a function too, for the length of a call.
  class body_reference {
   public:
    body_reference() = default;
    template <class Body>
    explicit body_reference(const Body& body)
        : body_(reinterpret_cast<std::uintptr_t>(std::addressof(body))),
          call_([](std::uintptr_t it, recorder& run) { (*reinterpret_cast<const Body*>(it))(run); }) {}
    void operator()(recorder& run) const {
      if (call_) call_(body_, run);
    }

   private:
    std::uintptr_t body_ = 0;
    void (*call_)(std::uintptr_t, recorder&) = nullptr;
  };
  using body_references = std::initializer_list<body_reference>;

  /// Whether a map or a finish is a null pointer to a function.
  template <class Functor>
  static bool is_null([[maybe_unused]] const Functor& functor) {
    if constexpr (std::is_pointer_v<Functor>) return functor == nullptr;
    return false;
  }
  /// Also forgets the writes of a step whose recording failed.
  void check_step(const char* name, bool is_null, bool takes_loop);
  template <class Functor>
  void append_writes([[maybe_unused]] const Functor& functor) {
    if constexpr (requires { functor.writes(); })
      for (const memory_range& range : functor.writes()) writes_.push_back(range);
  }
  /// Takes the step, which writes what was appended.
  void add_step(recorded_step* taken);
  void add_loop(const char* name, control* c, const body_reference& start, const body_reference& body);
  void add_branch(const char* name, const int* flag, const body_reference& body);
  void add_select(const char* name, const int* flag, bool has_else, body_references bodies);
  void add_parallel(const char* name, body_references bodies);
  void record_into(const program_node& node, std::vector<program_node>& list, const body_reference& body);

  friend class group_recorder;  // which has steps of its own kind

  std::vector<program_node>* current_ = &nodes_;
  std::vector<memory_range> writes_;  ///< of the step that is being recorded, as far as its functors tell
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
  explicit program_recorder(place where);
  ~program_recorder();

  /// Allocates the program's workspace on its place, one piece of zeroed memory that the program owns, but see
  /// seek_room: calls `layout`
  /// twice with an arena_layout (first null pointers, to add up the bytes; then the pieces) and returns the second
  /// result. The program's memory() lists it by the layout's items. Throws whilst::error within a body and for a second
  /// arena.
  template <class Layout>
  auto arena(const Layout& layout) {
    check_arena();
    arena_layout measuring;
    measuring.item("workspace");
    layout(measuring);
    auto memory = memory_for(measuring);
    arena_layout placing(memory.get());
    if constexpr (std::is_void_v<decltype(layout(placing))>) {
      layout(placing);
      keep_arena(measuring, placing, std::move(memory));
    } else {
      auto placed = layout(placing);
      keep_arena(measuring, placing, std::move(memory));
      return placed;
    }
  }

  /// Where arena() looks for memory before it allocates: find(bytes) returns some on the program's place, aligned as a
  /// buffer's is, or null. Its owner must outlive the program, which lists it as its own.
  void seek_room(std::function<void*(std::size_t bytes)> find) { find_room_ = std::move(find); }

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
    check_buffer(name, moved.where());
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
    check_buffer(name, borrowed.where());
    uses(name, borrowed.data(), static_cast<std::size_t>(borrowed.bytes()));
    return borrowed.data();
  }
  template <class T>
  T* uses(const char* name, const buffer<T>&& gone_at_once) = delete;
  /// The same for borrowed memory outside any buffer. Pointer and bytes are listed as given; nothing is read.
  void uses(const char* name, const void* address, std::size_t bytes);

  /// Returns the program recorded so far; the recorder is spent, and finishing it again throws whilst::error.
  program finish() &&;

 private:
  template <class T>
  T* keep(const char* name, std::shared_ptr<const buffer<T>> memory, lifetime how) {
    check_buffer(name, memory ? std::optional(memory->where()) : std::nullopt);
    T* const address = memory->data();
    const auto bytes = static_cast<std::size_t>(memory->bytes());
    add(name, address, bytes, how, std::move(memory));
    return address;
  }
  /// Throws whilst::error without a name, for a null buffer, and for one of another place.
  void check_buffer(const char* name, std::optional<place> of) const;
  void add(const char* name, const void* address, std::size_t bytes, lifetime how, std::shared_ptr<const void> memory);
  void check_arena() const;
  std::shared_ptr<void> memory_for(const arena_layout& measured) const;
  void keep_arena(const arena_layout& measured, const arena_layout& placed, std::shared_ptr<const void> memory);

  bool has_arena_ = false, is_spent_ = false;
  std::function<void*(std::size_t bytes)> find_room_;
  std::vector<std::pair<std::vector<memory_item>, std::shared_ptr<const void>>> memory_;
};

}  // namespace whilst
