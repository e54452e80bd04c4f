import java.io.FileWriter;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.Callable;
import javax.annotation.processing.AbstractProcessor;
import javax.annotation.processing.RoundEnvironment;
import javax.annotation.processing.SupportedAnnotationTypes;
import javax.lang.model.SourceVersion;
import javax.lang.model.element.TypeElement;
import javax.tools.Diagnostic;

/* Executed by the compiler: tells what it could reach. secret.path names a file of the host. */
@SupportedAnnotationTypes("*")
public class Spy extends AbstractProcessor {
    private void attempt(String what, Callable<Object> attempt) {
        String said;
        try {
            said = what + " found " + attempt.call();
        } catch (Exception e) {
            said = what + " refused";
        }
        processingEnv.getMessager().printMessage(Diagnostic.Kind.WARNING, said);
    }

    @Override
    public SourceVersion getSupportedSourceVersion() { return SourceVersion.latest(); }

    @Override
    public boolean process(Set<? extends TypeElement> annotations, RoundEnvironment round) {
        if (!round.processingOver()) return false;
        processingEnv.getMessager().printMessage(Diagnostic.Kind.WARNING, "the spy was here");
        attempt("secret", () -> Files.readString(Path.of(Files.readString(Path.of("secret.path")).trim())));
        attempt("shadow", () -> Files.readString(Path.of("/etc/shadow")));
        attempt("variable", () -> System.getenv("SHOWN").length());
        attempt("network", () -> {
            try (Socket socket = new Socket()) {
                socket.connect(new InetSocketAddress("127.0.0.1", 22), 1000);
                return socket;
            }
        });
        return false;
    }
}
