import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.PatternSelectFunction;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * A sequence of types under skip-till-any over a file of events, by FlinkCEP in one task of a local cluster.
 *
 * Arguments: the file, one event a line as type,value,time in ascending times; the types of the steps, as "0,1,2"; the
 * window in the same unit of time; by how much the last step's value must exceed each other's, or "-" for no condition.
 * A line of output: matches, processor seconds. A run over the first events warms the machine up.
 */
public final class CepPeer {
    private static final int WARM = 200;
    private static final AtomicLong MATCHES = new AtomicLong();

    /** One event. */
    public static final class Event {
        public int type;
        public long value;
        public long time;

        public Event() {}

        Event(String line) {
            String[] fields = line.split(",");
            type = Integer.parseInt(fields[0]);
            value = Long.parseLong(fields[1]);
            time = Long.parseLong(fields[2]);
        }
    }

    /** The type of a step and, for the last one, the distance of its value from those before. */
    private static final class Takes extends IterativeCondition<Event> {
        private final int type;
        private final int before;
        private final long margin;

        Takes(int type, int before, long margin) {
            this.type = type;
            this.before = before;
            this.margin = margin;
        }

        @Override
        public boolean filter(Event event, Context<Event> context) throws Exception {
            if (event.type != type) {
                return false;
            }
            for (int step = 0; step < before; step++) {
                for (Event other : context.getEventsForPattern("step" + step)) {
                    if (other.value + margin >= event.value) {
                        return false;
                    }
                }
            }
            return true;
        }
    }

    private static final class Count implements PatternSelectFunction<Event, Integer> {
        @Override
        public Integer select(Map<String, List<Event>> match) {
            MATCHES.incrementAndGet();
            return 0;
        }
    }

    public static void main(String[] arguments) throws Exception {
        List<Event> events = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            events.add(new Event(line));
        }
        Pattern<Event, ?> pattern = pattern(arguments[1].split(","), Long.parseLong(arguments[2]), arguments[3]);
        run(pattern, events.subList(0, Math.min(WARM, events.size())));
        MATCHES.set(0);
        long begun = processorNanoseconds();
        run(pattern, events);
        System.out.println(MATCHES.get() + " " + (processorNanoseconds() - begun) / 1e9);
    }

    private static Pattern<Event, ?> pattern(String[] types, long window, String margin) {
        Pattern<Event, Event> pattern = null;
        for (int step = 0; step < types.length; step++) {
            boolean compares = step == types.length - 1 && !margin.equals("-");
            Takes takes = new Takes(Integer.parseInt(types[step]), compares ? step : 0, compares ? Long.parseLong(margin) : 0);
            pattern = pattern == null
                ? Pattern.<Event>begin("step0", AfterMatchSkipStrategy.noSkip()).where(takes)
                : pattern.followedByAny("step" + step).where(takes);
        }
        return pattern.within(Duration.ofMillis(window + 1)); // FlinkCEP leaves the window's end out
    }

    private static void run(Pattern<Event, ?> pattern, List<Event> events) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(1);
        DataStream<Event> stream = environment.fromData(events).assignTimestampsAndWatermarks(
            WatermarkStrategy.<Event>forMonotonousTimestamps().withTimestampAssigner((event, unused) -> event.time));
        CEP.pattern(stream, (Pattern<Event, Event>) pattern).select(new Count()).sinkTo(new DiscardingSink<>());
        environment.execute();
    }

    private static long processorNanoseconds() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }
}
